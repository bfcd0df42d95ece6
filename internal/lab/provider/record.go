package provider

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// record is one user's. Its size is small and the same for all, so that what a call allocates is regular.
type record struct {
	ID       uint64 `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	City     string `json:"city"`
	Level    int    `json:"level"`
	Since    string `json:"since"`
	Checksum string `json:"checksum,omitempty"` // where calls do work
}

func recordOf(id uint64) record {
	return record{ID: id, Name: fmt.Sprintf("user %06d", id), Email: fmt.Sprintf("user%06d@example.com", id), City: "Hamburg", Level: int(id % 7), Since: "2019-04-01"}
}

const kibibyte = 1 << 10

// encode writes the record as JSON after work KiB of checksum over it: the CPU that a framework's filters and serialisation take. FNV-1a multiplies
// once a byte, one after the other, and so takes about the same time on any processor.
func (r record) encode(work int) []byte {
	if work > 0 {
		var block [kibibyte]byte
		copy(block[:], r.Email)
		sum := fnv.New64a()
		for range work {
			_, _ = sum.Write(block[:]) // It never fails.
		}
		r.Checksum = fmt.Sprintf("%016x", sum.Sum64())
	}
	out, _ := json.Marshal(r) // Text and numbers always have a form in JSON.
	return append(out, '\n')
}
