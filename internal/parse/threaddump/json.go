package threaddump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readJSON reads the JSON of Thread.dump_to_file, one dump after the other: the schema of JDK 21, without states, and the later one with
// states, locks and carriers. Threads are decoded one at a time.
func readJSON(r io.Reader, s *sink) error {
	in := &jsonReader{dec: json.NewDecoder(r), sink: s, frames: newFrames()}
	for {
		err := in.dump()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read thread dump as JSON, byte %d: %w", in.dec.InputOffset(), err)
		}
	}
}

type jsonReader struct {
	dec       *json.Decoder
	sink      *sink
	frames    *frames
	container string
}

// dump reads one object.
func (j *jsonReader) dump() error {
	if err := j.expect(json.Delim('{')); err != nil {
		return err
	}
	return unexpected(j.fields(func(key string) error {
		if key != "threadDump" {
			return j.skip()
		}
		if err := j.sink.begin(Head{Format: HotSpotJSON}); err != nil {
			return err
		}
		if err := j.expect(json.Delim('{')); err != nil {
			return err
		}
		if err := j.fields(j.top); err != nil {
			return err
		}
		return j.sink.end()
	}))
}

// unexpected makes an end within a dump an error of its own: only between dumps it is none.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (j *jsonReader) top(key string) error {
	switch key {
	case "time":
		return j.dec.Decode(&j.sink.head.When)
	case "runtimeVersion":
		return j.dec.Decode(&j.sink.head.Runtime)
	case "threadContainers":
		return j.each(func() error {
			j.container = ""
			if err := j.expect(json.Delim('{')); err != nil {
				return err
			}
			return j.fields(j.inContainer)
		})
	}
	return j.skip()
}

func (j *jsonReader) inContainer(key string) error {
	switch key {
	case "container":
		return j.dec.Decode(&j.container)
	case "threads":
		return j.each(j.thread)
	}
	return j.skip()
}

// anyID is a number, or a string that holds one.
type anyID int64

func (a *anyID) UnmarshalJSON(text []byte) error {
	*a = anyID(number([]byte(strings.Trim(string(text), `"`))))
	return nil
}

type jsonThread struct {
	TID         anyID    `json:"tid"`
	Name        string   `json:"name"`
	State       string   `json:"state"`
	Virtual     bool     `json:"virtual"`
	Stack       []string `json:"stack"`
	BlockedOn   string   `json:"blockedOn"`
	WaitingOn   string   `json:"waitingOn"`
	Carrier     anyID    `json:"carrier"`
	ParkBlocker *struct {
		Object string `json:"object"`
		Owner  anyID  `json:"owner"`
	} `json:"parkBlocker"`
	MonitorsOwned []struct {
		Locks []string `json:"locks"`
	} `json:"monitorsOwned"`
}

func (j *jsonReader) thread() error {
	var in jsonThread
	if err := j.dec.Decode(&in); err != nil {
		return err
	}
	t := &Thread{Name: in.Name, ID: int64(in.TID), Count: 1, State: ParseState(in.State), Virtual: in.Virtual, CPU: -1, Elapsed: -1, Container: j.container}
	for _, frame := range in.Stack {
		t.Stack = append(t.Stack, j.frames.javaFrame([]byte(frame)))
	}
	switch {
	case in.BlockedOn != "":
		t.Wait, t.WaitFor = ForMonitor, jsonObject(in.BlockedOn)
	case in.WaitingOn != "":
		t.Wait, t.WaitFor = OnMonitor, jsonObject(in.WaitingOn)
	case in.ParkBlocker != nil:
		t.Wait, t.WaitFor = Parked, jsonObject(in.ParkBlocker.Object)
		if in.ParkBlocker.Owner > 0 {
			t.WaitFor.Owner = fmt.Sprintf("#%d", in.ParkBlocker.Owner)
		}
	}
	for _, at := range in.MonitorsOwned {
		for _, lock := range at.Locks {
			hold(t, jsonObject(lock))
		}
	}
	return j.sink.thread(t)
}

// jsonObject reads «java.lang.Object@1b2c».
func jsonObject(s string) Object {
	class, _, _ := strings.Cut(s, "@")
	return Object{ID: s, Class: class}
}

// fields calls visit with each key of the object whose brace was read.
func (j *jsonReader) fields(visit func(key string) error) error {
	for j.dec.More() {
		token, err := j.dec.Token()
		if err != nil {
			return unexpected(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("found %v, want a key", token)
		}
		if err := unexpected(visit(key)); err != nil {
			return err
		}
	}
	_, err := j.dec.Token()
	return unexpected(err)
}

// each calls visit before each value of an array.
func (j *jsonReader) each(visit func() error) error {
	if err := j.expect(json.Delim('[')); err != nil {
		return err
	}
	for j.dec.More() {
		if err := visit(); err != nil {
			return err
		}
	}
	_, err := j.dec.Token()
	return err
}

func (j *jsonReader) expect(want json.Delim) error {
	token, err := j.dec.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("found %v, want %v", token, want)
	}
	return nil
}

// skip passes over a value.
func (j *jsonReader) skip() error {
	var raw json.RawMessage
	return j.dec.Decode(&raw)
}
