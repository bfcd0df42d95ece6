package analysis

import (
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// wish is the SLO asked of a run.
type wish struct {
	text  string
	bound time.Duration // of its latency clauses, 0 where it has none
}

func wishOf(text string) wish { return wish{text: text} }

func (w wish) judge(*CellResult, *tally) *Verdict { return nil }

func (w wish) loadLine([][]*CellResult) *LoadLine { return nil }

func kneeOf([][]*CellResult) *Knee { return nil }

func steadyOf(record.Cell) *Steady { return nil }
