package threaddump

import (
	"bytes"
	"strings"
)

// lockLine reads the lines between frames that begin with a dash. It is false for lines of another kind.
func (p *hotspot) lockLine(text []byte) bool {
	t := p.thread
	rest, ok := bytes.CutPrefix(text, []byte("- "))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, " ")
	for _, kind := range lockKinds {
		if after, ok := bytes.CutPrefix(rest, []byte(kind.words)); ok {
			kind.apply(t, p.object(after))
			return true
		}
	}
	if p.synchronisers && (bytes.HasPrefix(rest, []byte("<")) || bytes.IndexByte(rest, '@') > 0) {
		t.Owned = append(t.Owned, p.object(rest))
	}
	return true
}

// lockKinds in an order in which no words hide longer ones.
var lockKinds = []struct {
	words string
	apply func(*Thread, Object)
}{
	{"waiting to lock", wait(ForMonitor)},
	{"waiting to re-lock in wait()", wait(ForMonitor)},
	{"blocked on", wait(ForMonitor)},
	{"waiting on", wait(OnMonitor)},
	{"parking to wait for", wait(Parked)},
	{"parked on", wait(Parked)},
	{"locked", hold},
	{"eliminated", func(*Thread, Object) {}},
}

func wait(kind WaitKind) func(*Thread, Object) {
	return func(t *Thread, o Object) {
		if t.Wait == NoWait || t.WaitFor.ID == "" {
			if o.Owner == "" {
				o.Owner = t.WaitFor.Owner
			}
			t.Wait, t.WaitFor = kind, o
		}
	}
}

// hold notes a monitor. One that the thread waits on, or waits to enter again, was given back by wait.
func hold(t *Thread, o Object) {
	if o.ID == "" || o.ID == t.WaitFor.ID && (t.Wait == OnMonitor || t.Wait == ForMonitor) {
		return
	}
	t.Held = append(t.Held, o)
}

// object reads «<0x0000> (a java.lang.Object) owned by "x" t@12» and «java.lang.Object@1b2c owned by "x" Id=3».
func (p *hotspot) object(text []byte) Object {
	text = bytes.TrimSpace(text)
	var o Object
	if at := bytes.Index(text, []byte(` owned by "`)); at >= 0 {
		name, _, _ := bytes.Cut(text[at+len(` owned by "`):], []byte(`"`))
		o.Owner = p.frames.word(name)
		text = text[:at]
	}
	if id, rest, ok := cutAngle(text); ok {
		if !bytes.ContainsRune(id, ' ') { // «no object reference available», «owner is scalar replaced»
			o.ID = p.frames.word(bytes.TrimPrefix(id, []byte("@")))
		}
		o.Class = p.class(rest)
		if at := strings.IndexByte(o.ID, '@'); o.Class == "" && at > 0 {
			o.Class = o.ID[:at]
		}
		return o
	}
	if class, _, ok := bytes.Cut(text, []byte("@")); ok {
		o.ID, o.Class = p.frames.word(text), p.frames.word(class)
	}
	return o
}

func cutAngle(text []byte) (id, rest []byte, ok bool) {
	if !bytes.HasPrefix(text, []byte("<")) {
		return nil, nil, false
	}
	end := bytes.IndexByte(text, '>')
	if end < 0 {
		return nil, nil, false
	}
	return text[1:end], text[end+1:], true
}

// class reads «(a java.lang.Object)» and «(a java.lang.Class for com.shop.Order)».
func (p *hotspot) class(text []byte) string {
	text = bytes.TrimSpace(text)
	text, ok := bytes.CutPrefix(text, []byte("(a "))
	if !ok {
		return ""
	}
	return p.frames.word(bytes.TrimSuffix(text, []byte(")")))
}
