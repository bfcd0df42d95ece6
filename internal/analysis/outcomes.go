package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/loadline-dev/loadline/internal/record"
)

// Of is the count of one class.
func (o Outcomes) Of(class record.Outcome) int64 { return o[class] }

// Sum is the number of requests counted.
func (o Outcomes) Sum() int64 {
	var sum int64
	for _, n := range o {
		sum += n
	}
	return sum
}

// MarshalJSON writes every class by its name, in the order in which classes are shown.
func (o Outcomes) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, n := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", record.Outcome(i), n)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote; a class left out counts 0, an unknown one is an error.
func (o *Outcomes) UnmarshalJSON(data []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(data, &named); err != nil {
		return fmt.Errorf("outcomes: %w", err)
	}
	*o = Outcomes{}
	for name, n := range named {
		class, err := record.ParseOutcome(name)
		if err != nil {
			return fmt.Errorf("outcomes: %w", err)
		}
		o[class] = n
	}
	return nil
}
