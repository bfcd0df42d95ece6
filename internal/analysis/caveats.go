package analysis

import (
	"fmt"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/record"
)

// caveatsOf lists the reasons to doubt a cell's figures.
func caveatsOf(cell record.Cell, r *CellResult) []Caveat {
	out := []Caveat{}
	add := func(code finding.Code, format string, args ...any) {
		out = append(out, Caveat{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if cell.Partial {
		add(finding.PartialCell, "the cell ended before its time%s", because(cell.Failure))
	}
	if r.Planned == 0 {
		add(finding.NothingMeasured, "nothing was sent inside the window")
		return out
	}
	if least := minimumSamples(0.99); r.Latency.N < least && !isTrial(cell) {
		add(finding.TooFewSamples, "%d successes; a p99 needs at least %d", r.Latency.N, least)
	}
	if r.Steady != nil && !r.Steady.Reached {
		add(finding.NoSteadyState, "no steady state (%s): %s", r.Steady.Verdict, strings.Join(r.Steady.Reasons, "; "))
	}
	if !r.Generator.Valid {
		add(finding.GeneratorLimit, "the generator was at its limit: %s", strings.Join(r.Generator.Why, "; "))
	}
	switch {
	case r.HostCPURatio == nil:
	case *r.HostCPURatio >= saturatedCPU:
		add(finding.CPUSaturated, "the machine's CPUs were %.0f %% busy, generator included: the throughput curve is in its bottleneck region",
			*r.HostCPURatio*100)
	case *r.HostCPURatio >= contendedCPU && r.Generator.CPUWaitRatio != nil && *r.Generator.CPUWaitRatio > maxCPUWait:
		// Work that comes in bursts queues for the CPUs although they idle in between.
		add(finding.CPUSaturated, "the machine's CPUs were %.0f %% busy, generator included, and a thread that could run waited for one %.0f %% of the window: "+
			"the throughput curve is in its bottleneck region", *r.HostCPURatio*100, *r.Generator.CPUWaitRatio*100)
	}
	out = append(out, auditCaveats(r.Checks)...)
	return append(out, slotCaveats(cell, r.Services)...)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// auditCaveats tells the laws that the cell breaks.
func auditCaveats(checks []Check) []Caveat {
	codes := map[string]finding.Code{audit.LawLittle: finding.LittleViolated, audit.LawSlotCeiling: finding.SlotCeilingExceeded,
		audit.LawSum: finding.OutcomeSumWrong}
	var out []Caveat
	for _, c := range checks {
		if c.Verdict == audit.Consistent {
			continue
		}
		code, ok := codes[c.Law]
		if !ok {
			code = finding.LawBroken
		}
		out = append(out, Caveat{Code: code, Text: fmt.Sprintf("%s: %s", c.Verdict, c.Text)})
	}
	return out
}

// slotCaveats compares the slots that the plan states with those that the service reports: a setting that did not reach the service
// makes every figure one of another setting.
func slotCaveats(cell record.Cell, services map[string]ServiceResult) []Caveat {
	var out []Caveat
	for _, limit := range cell.Slots {
		name, pool, ok := limited(limit, services)
		if !ok {
			continue
		}
		if slots := pool.Slots(); slots != nil && *slots != float64(limit.Slots) {
			out = append(out, Caveat{Code: finding.SlotsNotInForce,
				Text: fmt.Sprintf("the plan says %d slots, %s/%s reports %.0f", limit.Slots, limit.Service, name, *slots)})
		}
	}
	return out
}
