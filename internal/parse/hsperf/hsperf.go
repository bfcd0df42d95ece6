// Package hsperf reads the file in which a HotSpot JVM publishes its counters (hsperfdata, version 2.0 as jdk.internal.perf and
// perfMemory.hpp describe it). It does no I/O; the bytes of the file are handed in.
package hsperf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Counters are the file's figures by name, texts apart.
type Counters struct {
	Longs map[string]int64
	Texts map[string]string
}

// ErrNotReady says that the JVM has not finished writing the file's beginning yet.
var ErrNotReady = errors.New("the JVM's counters are not ready yet")

const (
	magic       = 0xcafec0c0
	headerBytes = 32
	entryBytes  = 20
	mostEntries = 1 << 16
)

// Parse reads a file. Counters that the JVM is writing to at this moment are whole: each is one aligned word.
func Parse(file []byte) (Counters, error) {
	if len(file) < headerBytes || binary.BigEndian.Uint32(file) != magic {
		return Counters{}, fmt.Errorf("hsperfdata: found %d bytes that do not begin with ca fe c0 c0, want a JVM's counters", len(file))
	}
	var order binary.ByteOrder = binary.BigEndian
	if file[4] == 1 {
		order = binary.LittleEndian
	}
	if major := file[5]; major != 2 {
		return Counters{}, fmt.Errorf("hsperfdata: found version %d.%d, want 2.x (JDK 5 and later)", file[5], file[6])
	}
	if file[7] == 0 {
		return Counters{}, ErrNotReady
	}
	out := Counters{Longs: map[string]int64{}, Texts: map[string]string{}}
	at, entries := int(int32(order.Uint32(file[24:]))), int(int32(order.Uint32(file[28:])))
	if entries < 0 || entries > mostEntries {
		return Counters{}, fmt.Errorf("hsperfdata: found %d entries, allowed 0 to %d", entries, mostEntries)
	}
	for range entries {
		length, err := out.entry(file, at, order)
		if err != nil {
			return out, err
		}
		at += length
	}
	return out, nil
}

// entry reads one counter and returns how long its entry is.
func (c *Counters) entry(file []byte, at int, order binary.ByteOrder) (int, error) {
	if at < headerBytes || at+entryBytes > len(file) {
		return 0, fmt.Errorf("hsperfdata: found an entry at byte %d of %d", at, len(file))
	}
	e := file[at:]
	length, name, vector := int(int32(order.Uint32(e))), int(int32(order.Uint32(e[4:]))), int(int32(order.Uint32(e[8:])))
	data := int(int32(order.Uint32(e[16:])))
	if length < entryBytes || length > len(e) || name < entryBytes || name > length || data < 0 || data > length || vector < 0 || vector > length-data {
		return 0, fmt.Errorf("hsperfdata: found a broken entry at byte %d", at)
	}
	end := bytes.IndexByte(e[name:length], 0)
	if end < 0 {
		return 0, fmt.Errorf("hsperfdata: found a name without end at byte %d", at)
	}
	key := string(e[name : name+end])
	const long, text = 'J', 'B'
	switch kind := e[12]; {
	case kind == long && vector == 0 && data+8 <= length:
		c.Longs[key] = int64(order.Uint64(e[data:]))
	case kind == text && vector > 0:
		value, _, _ := bytes.Cut(e[data:data+vector], []byte{0})
		c.Texts[key] = string(value)
	}
	return length, nil
}

// Ticks turns a figure in the JVM's ticks into time; false where the JVM does not tell their length.
func (c Counters) Ticks(name string) (time.Duration, bool) {
	ticks, ok := c.Longs[name]
	frequency := c.Longs["sun.os.hrt.frequency"]
	if !ok || frequency <= 0 {
		return 0, false
	}
	return time.Duration(float64(ticks) / float64(frequency) * float64(time.Second)), true
}

// Heap is what is used and reserved of all generations' spaces, in bytes; metaspace is no part of it. It is false where none is told.
func (c Counters) Heap() (used, capacity int64, ok bool) {
	for name, v := range c.Longs {
		if !strings.HasPrefix(name, "sun.gc.generation.") || !strings.Contains(name, ".space.") {
			continue
		}
		switch {
		case strings.HasSuffix(name, ".used"):
			used, ok = used+v, true
		case strings.HasSuffix(name, ".capacity"):
			capacity += v
		}
	}
	return used, capacity, ok
}

// Collector is one of the JVM's garbage collectors.
type Collector struct {
	Name        string
	Invocations int64
	Time        time.Duration
}

// Collectors lists them in the JVM's order.
func (c Counters) Collectors() []Collector {
	var out []Collector
	for i := 0; ; i++ {
		prefix := fmt.Sprintf("sun.gc.collector.%d.", i)
		n, ok := c.Longs[prefix+"invocations"]
		if !ok {
			return out
		}
		took, _ := c.Ticks(prefix + "time")
		out = append(out, Collector{Name: c.Texts[prefix+"name"], Invocations: n, Time: took})
	}
}
