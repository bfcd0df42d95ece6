package load

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loadline-dev/loadline/internal/plan"
)

// feeder is a file of values in memory. It is safe for concurrent use.
type feeder struct {
	name    string
	columns []string
	rows    [][]string
	choose  string
	next    atomic.Int64
	slots   []int // of the columns, in a session's values
}

// openFeeder reads a feeder's file.
func openFeeder(f plan.Feeder, folder string) (*feeder, error) {
	out := &feeder{name: f.Name, choose: f.Choose}
	data, err := os.ReadFile(inFolder(folder, f.File))
	if err != nil {
		return nil, fmt.Errorf("feeder %s: %w", f.Name, err)
	}
	if strings.HasSuffix(strings.ToLower(f.File), ".json") {
		err = out.readJSON(data)
	} else {
		err = out.readCSV(data)
	}
	if err == nil && len(out.rows) == 0 {
		err = errors.New("found no rows, allowed: one and more")
	}
	if err != nil {
		return nil, fmt.Errorf("feeder %s: %s: %w", f.Name, f.File, err)
	}
	return out, nil
}

func (f *feeder) readCSV(data []byte) error {
	all, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff"))).ReadAll()
	if err != nil {
		return err
	}
	if len(all) > 0 {
		f.columns, f.rows = all[0], all[1:]
	}
	return nil
}

func (f *feeder) readJSON(data []byte) error {
	var all []map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("allowed: a list of objects: %w", err)
	}
	if len(all) == 0 {
		return nil
	}
	f.columns = slices.Sorted(maps.Keys(all[0]))
	for i, object := range all {
		row := make([]string, len(f.columns))
		for c, name := range f.columns {
			value, ok := object[name]
			if !ok {
				return fmt.Errorf("object %d: found no %q, allowed: the same keys in all", i+1, name)
			}
			row[c] = textOf(value)
		}
		f.rows = append(f.rows, row)
	}
	return nil
}

// textOf is a JSON value as it stands in a request.
func textOf(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b, err := json.Marshal(value)
	if err != nil {
		return "" // What was just unmarshalled can be marshalled.
	}
	return string(b)
}

// row chooses a row; false when there are no more.
func (f *feeder) row(rng *rand.Rand) ([]string, bool) {
	if f.choose == plan.ChooseAtRandom {
		return f.rows[rng.IntN(len(f.rows))], true
	}
	n := f.next.Add(1) - 1
	if f.choose == plan.ChooseOnce && n >= int64(len(f.rows)) {
		return nil, false
	}
	return f.rows[n%int64(len(f.rows))], true
}
