package interchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// eachLine calls visit for every line that is not blank. A last line without a line break is visited as well, with whole false.
func eachLine(in *bufio.Reader, visit func(line int, text []byte, whole bool) error) error {
	r := rows{in: in, delim: ','}
	for {
		text, err := r.plain()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return faultAt(r.lines, "check that the file is whole", "%v", err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := visit(r.lines, text, r.ended); err != nil {
			return err
		}
	}
}

// plain reads a line without regard to quotes.
func (r *rows) plain() ([]byte, error) {
	row, err := r.in.ReadSlice('\n')
	r.lines++
	if err == nil {
		r.ended = true
		return trimBreak(row), nil
	}
	r.spill = append(r.spill[:0], row...)
	for err == bufio.ErrBufferFull {
		if len(r.spill) > maxRow {
			return nil, errLongRow
		}
		row, err = r.in.ReadSlice('\n')
		r.spill = append(r.spill, row...)
	}
	if err == io.EOF && len(r.spill) == 0 {
		return nil, io.EOF
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	r.ended = err == nil
	return trimBreak(r.spill), nil
}

func readVegetaJSON(in *bufio.Reader) ([]record.Cell, error) {
	v := newVegeta()
	cut := false
	err := eachLine(in, func(line int, text []byte, whole bool) error {
		var r struct {
			Attack    string    `json:"attack"`
			Code      int       `json:"code"`
			Timestamp time.Time `json:"timestamp"`
			Latency   int64     `json:"latency"`
			Error     string    `json:"error"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			if !whole {
				cut = true
				return nil
			}
			return faultAt(line, "check that this is vegeta encode's JSON", "%v", err)
		}
		if r.Timestamp.IsZero() || r.Latency < 0 {
			return faultAt(line, "check that this is vegeta encode's JSON", "no timestamp, or a latency below 0")
		}
		return atLine(v.add(r.Timestamp.UnixNano(), r.Latency, r.Code, []byte(r.Error), []byte(r.Attack)), line)
	})
	if err != nil {
		return nil, err
	}
	return v.finish("JSON", cut)
}

func readK6JSON(in *bufio.Reader) ([]record.Cell, error) {
	k := &k6{fold: newFold()}
	cut := false
	err := eachLine(in, func(line int, text []byte, whole bool) error {
		if bytes.Contains(text, []byte(`"type":"Metric"`)) {
			return nil
		}
		var p struct {
			Metric string `json:"metric"`
			Data   struct {
				Time  time.Time         `json:"time"`
				Value float64           `json:"value"`
				Tags  map[string]string `json:"tags"`
			} `json:"data"`
		}
		if err := json.Unmarshal(text, &p); err != nil {
			if !whole {
				cut = true
				return nil
			}
			return faultAt(line, "check that this is k6's JSON output", "%v", err)
		}
		status, _ := integer([]byte(p.Data.Tags["status"]))
		code, _ := integer([]byte(p.Data.Tags["error_code"]))
		return atLine(k.point(k6Point{metric: p.Metric, value: p.Data.Value, end: p.Data.Time.UnixNano(), status: int(status), code: int(code),
			text: []byte(p.Data.Tags["error"])}), line)
	})
	if err != nil {
		return nil, err
	}
	return k.finish("JSON", cut)
}

// readGatling reads simulation.log as text, which Gatling wrote up to 3.12. Later versions write a binary form without promise of
// stability, told by its first byte.
func readGatling(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	head, err := in.Peek(4)
	if err == io.EOF && len(head) == 0 {
		return nil, faultAt(0, "check that the simulation ran", "the file is empty")
	}
	if len(head) > 0 && head[0] == 0 {
		return nil, faultAt(0, "import the report's figures instead, or run with Gatling 3.12 or older",
			"this is the binary simulation.log of Gatling 3.13 or later, which has no stable form")
	}
	g := gatling{fold: newFold()}
	if err := eachLine(in, g.line); err != nil {
		return nil, err
	}
	return finish(g.fold, record.Imported{Tool: "gatling", Variant: "simulation.log " + g.version,
		Latency: record.LatencyMeaning{From: "connect", Connect: true},
		Caveats: []record.ImportCaveat{caveat("resolution", "times are whole milliseconds")}}, g.cut)
}

type gatling struct {
	fold    *fold
	version string
	users   int
	cut     bool
}

func (g *gatling) line(line int, text []byte, whole bool) error {
	fields := strings.Split(string(text), "\t")
	bad := func(what string) error {
		if !whole {
			g.cut = true
			return nil
		}
		return faultAt(line, "check that this is Gatling's simulation.log", "%s: found %q", what, clip(string(text)))
	}
	switch fields[0] {
	case "RUN":
		g.version = fields[len(fields)-1]
	case "USER":
		return g.user(fields, bad)
	case "REQUEST":
		return g.request(fields, bad)
	case "GROUP", "ERROR", "ASSERTION":
	default:
		return bad("want a line that begins with RUN, USER, REQUEST, GROUP, ERROR or ASSERTION")
	}
	return nil
}

func (g *gatling) user(fields []string, bad func(string) error) error {
	switch {
	case len(fields) < 4:
		return bad("a USER line with scenario, START or END, and time")
	case fields[len(fields)-2] == "START":
		g.users++
	case fields[len(fields)-2] == "END":
		g.users = max(g.users-1, 0)
	}
	return nil
}

func (g *gatling) request(fields []string, bad func(string) error) error {
	if len(fields) < 6 {
		return bad("a REQUEST line with groups, name, start, end, status and message")
	}
	start, ok := integer([]byte(fields[3]))
	end, ok2 := integer([]byte(fields[4]))
	if !ok || !ok2 || end < start {
		return bad("start and end in epoch milliseconds, the end not before the start")
	}
	s := sample{start: milliseconds(start), latency: time.Duration(milliseconds(end - start)), users: g.users}
	if fields[5] != "OK" {
		s.outcome, s.code = gatlingOutcome(strings.Join(fields[6:], " "))
	}
	if err := g.fold.add(s); err != nil {
		return bad(err.Error())
	}
	return nil
}

func gatlingOutcome(message string) (record.Outcome, []byte) {
	// A failed check says «status.find.is(200), but actually found 503».
	var status int
	if _, found, ok := strings.Cut(message, "actually found "); ok {
		if n, _ := fmt.Sscanf(found, "%d", &status); n == 1 && strings.Contains(message, "status") {
			return record.OutcomeOfStatus(status), statusCode(status)
		}
	}
	return errorOutcome([]byte(message)), []byte(message)
}
