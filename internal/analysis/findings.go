package analysis

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// saturatedCPU is the share of the machine's CPUs above which a cell says so: the order-detail study's bound of its bottleneck region.
const saturatedCPU = 0.9

// contendedCPU is the share above which threads that wait for a CPU say the same: on a machine of few cores a closed loop keeps them
// waiting for each other long before the kernel counts 90 %.
const contendedCPU = 0.7

// sceneOf is a cell as the diagnosis looks at it; nil where nothing was measured.
func sceneOf(cell record.Cell, cores int, t *tally, r *CellResult) *diagnose.Scene {
	if t.seconds == 0 {
		return nil
	}
	load := cell.Load
	s := &diagnose.Scene{
		From: t.window.start, To: t.window.end, Load: &load, Timeout: cell.Timeout, Planned: r.Planned, Inside: r.Outcomes, Ended: t.ended,
		SuccessPerSec: r.Rates.Success, RejectedPerSec: r.Rates.Rejected, RejectedRatio: r.RejectedRatio, MeanMS: r.Latency.Mean,
		Generator: generatorScene(r.Generator), HostCPURatio: r.HostCPURatio, Cores: cores, OwnCores: coresBusy(r), Services: r.Services,
		AcceptQueue: acceptQueue(cell, t.window),
	}
	if by, ok := r.LatencyBy[record.Timeout.String()]; ok {
		s.TimeoutP50MS = by.P50
	}
	var unread []Caveat
	s.Dumps, unread = dumpsOf(cell)
	r.Caveats = append(r.Caveats, unread...)
	return s
}

func generatorScene(g Generator) *diagnose.Generator {
	return &diagnose.Generator{Valid: g.Valid || waitedOnly(g), CPURatio: g.CPURatio, LoopCPURatio: g.LoopCPURatio, CPUWaitRatio: g.CPUWaitRatio, LagP99MS: g.LagP99MS}
}

// waitedOnly tells whether nothing but other programs on the same cores kept the generator from its work: then the cell is invalid, which
// its caveat says, but the generator's own speed is not what binds.
func waitedOnly(g Generator) bool {
	return len(g.Why) == 1 && g.CPUWaitRatio != nil && *g.CPUWaitRatio > maxCPUWait
}

// DumpAtStart is why a dump was taken before the load stood: it is kept for people, and not compared with those under load.
const DumpAtStart = "start"

// dumpsOf sums the dumps of a cell up, by service, in the order in which they were taken.
func dumpsOf(cell record.Cell) (map[string][]*dump.Summary, []Caveat) {
	var unread []Caveat
	out := map[string][]*dump.Summary{}
	for _, d := range cell.Dumps {
		if d.Why == DumpAtStart {
			continue
		}
		summaries, err := dump.Read(bytes.NewReader(d.Data))
		if err != nil {
			unread = append(unread, Caveat{Code: finding.DumpUnreadable,
				Text: fmt.Sprintf("the dump of %s at %v cannot be read: %v", d.Service, d.At.Round(time.Millisecond), err)})
		}
		if len(summaries) > 0 {
			out[d.Service] = append(out[d.Service], summaries...)
		}
	}
	return out, unread
}

// acceptQueue is how many connections waited to be accepted on average, over all ports that were looked at.
func acceptQueue(cell record.Cell, window span) *float64 {
	within := observed.Span{Start: window.start, End: window.end}
	sums, looks := map[time.Duration]float64{}, 0
	total := 0.0
	for _, s := range cell.Series {
		if !strings.HasPrefix(s.Name, "accept_queue{") || !within.Contains(s.At) {
			continue
		}
		if _, seen := sums[s.At]; !seen {
			looks++
		}
		sums[s.At] += s.Value
		total += s.Value
	}
	return ratio(total, float64(looks))
}

// diagnose finds what is wrong in every cell, each beside the lower steps of its setting.
func (r *Result) diagnose(under examined) {
	for _, cells := range bySetting(r.Cells) {
		steps := byLoad(cells)
		for i, step := range steps {
			for _, c := range step {
				s := under[c].scene
				if s == nil {
					continue
				}
				s.Highest = i == len(steps)-1
				if i > 0 {
					s.Before, s.Lowest = under[steps[i-1][0]].scene, under[steps[0][0]].scene
				}
				c.Findings = diagnose.Of(*s)
			}
		}
	}
}
