package hsperf_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/hsperf"
)

// file builds a file as the JVM lays it out.
type file struct {
	order   binary.ByteOrder
	entries []byte
	n       int
}

func (f *file) entry(name string, kind byte, vector int, data []byte) {
	nameEnd := 20 + len(name) + 1
	at := (nameEnd + 7) / 8 * 8
	length := (at + len(data) + 7) / 8 * 8
	e := make([]byte, length)
	f.order.PutUint32(e, uint32(length))
	f.order.PutUint32(e[4:], 20)
	f.order.PutUint32(e[8:], uint32(vector))
	e[12] = kind
	f.order.PutUint32(e[16:], uint32(at))
	copy(e[20:], name)
	copy(e[at:], data)
	f.entries = append(f.entries, e...)
	f.n++
}

func (f *file) long(name string, v int64) {
	data := make([]byte, 8)
	f.order.PutUint64(data, uint64(v))
	f.entry(name, 'J', 0, data)
}

func (f *file) text(name, v string) {
	f.entry(name, 'B', len(v)+8, append([]byte(v), make([]byte, 8)...))
}

func (f *file) bytes() []byte {
	h := make([]byte, 32)
	binary.BigEndian.PutUint32(h, 0xcafec0c0)
	if f.order == binary.LittleEndian {
		h[4] = 1
	}
	h[5], h[7] = 2, 1
	f.order.PutUint32(h[24:], 32)
	f.order.PutUint32(h[28:], uint32(f.n))
	return append(h, f.entries...)
}

func example(order binary.ByteOrder) []byte {
	f := &file{order: order}
	f.long("sun.os.hrt.frequency", 1_000_000_000)
	f.long("sun.gc.collector.0.invocations", 7)
	f.long("sun.gc.collector.0.time", 250_000_000)
	f.text("sun.gc.collector.0.name", "G1 young")
	f.long("sun.gc.collector.1.invocations", 1)
	f.long("sun.gc.generation.0.space.0.used", 100)
	f.long("sun.gc.generation.0.space.0.capacity", 400)
	f.long("sun.gc.generation.1.space.0.used", 50)
	f.long("sun.gc.generation.1.space.0.capacity", 600)
	f.long("sun.gc.metaspace.used", 999)
	return f.bytes()
}

func TestCountersOfBothByteOrders(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		c, err := hsperf.Parse(example(order))
		if err != nil {
			t.Fatal(err)
		}
		gc := c.Collectors()
		if len(gc) != 2 || gc[0] != (hsperf.Collector{Name: "G1 young", Invocations: 7, Time: 250 * time.Millisecond}) {
			t.Errorf("collectors %+v", gc)
		}
		if used, capacity, ok := c.Heap(); used != 150 || capacity != 1000 || !ok {
			t.Errorf("heap %d of %d, %v: metaspace is no part of it", used, capacity, ok)
		}
	}
}

func TestWhatIsNoSuchFileIsRefused(t *testing.T) {
	good := example(binary.LittleEndian)
	for name, change := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"magic":   func(b []byte) []byte { b[0] = 0; return b },
		"version": func(b []byte) []byte { b[5] = 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-9] },
		"entries": func(b []byte) []byte { b[28] = 0xff; return b },
	} {
		if _, err := hsperf.Parse(change(append([]byte(nil), good...))); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	young := append([]byte(nil), good...)
	young[7] = 0
	if _, err := hsperf.Parse(young); !errors.Is(err, hsperf.ErrNotReady) {
		t.Errorf("error %v, want ErrNotReady", err)
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add(example(binary.LittleEndian))
	f.Add(example(binary.BigEndian))
	f.Fuzz(func(_ *testing.T, b []byte) {
		c, _ := hsperf.Parse(b)
		c.Collectors()
		c.Heap()
	})
}
