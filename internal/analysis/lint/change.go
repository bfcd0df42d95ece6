package lint

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Changes judges what happens when settings are changed from before to after while the service runs: Hystrix' pools take part of such
// a change at their next use and ignore the rest. What is wrong with the settings themselves is Check's matter. Pools are matched by name.
func Changes(before, after limits.System) []Finding {
	out := []Finding{}
	for _, was := range before.Pools {
		for _, is := range after.Pools {
			if was.Name != is.Name || was.Hystrix == nil || is.Hystrix == nil {
				continue
			}
			out = append(out, coreRaised(was, is)...)
			out = append(out, changeWithoutEffect(was, is)...)
		}
	}
	return out
}

// coreRaised is the order in which Hystrix hands the new sizes to the JDK's pool: core first, then max. Since JDK 9 a core above the
// max in force throws, in every call.
func coreRaised(was, is limits.Pool) []Finding {
	if is.Core.Value <= was.Max.Value {
		return nil
	}
	return []Finding{report(CoreRaisedAboveMax, finding.Critical,
		fmt.Sprintf("pool %s: core goes from %d to %d, above the maximum of %d in force: Hystrix sets core first, and on JDK 9 and later every call then fails",
			is.Name, was.Core.Value, is.Core.Value, was.Max.Value),
		fmt.Sprintf("restart with the new sizes, or raise maximumSize to %d first, with allowMaximumSizeToDivergeFromCoreSize=true from the start", is.Core.Value),
		figures{"core_before": was.Core.Value, "core_after": is.Core.Value, "max_before": was.Max.Value}, is.Core.At, was.Max.At)}
}

func changeWithoutEffect(was, is limits.Pool) []Finding {
	var out []Finding
	a, b := was.Hystrix, is.Hystrix
	if a.MaxQueueSize.Value != b.MaxQueueSize.Value {
		out = append(out, report(ChangeWithoutEffect, finding.Warning,
			fmt.Sprintf("pool %s: maxQueueSize goes from %d to %d, but the queue is made once: the old one stays until a restart", is.Name, a.MaxQueueSize.Value, b.MaxQueueSize.Value),
			"a large maxQueueSize at the start, and queueSizeRejectionThreshold as the live limit", nil, b.MaxQueueSize.At, a.MaxQueueSize.At))
	}
	if a.AllowDiverge.Value != b.AllowDiverge.Value {
		out = append(out, report(ChangeWithoutEffect, finding.Warning,
			fmt.Sprintf("pool %s: allowMaximumSizeToDivergeFromCoreSize is read once: %t stays in force until a restart", is.Name, a.AllowDiverge.Value),
			"set it at the start", nil, b.AllowDiverge.At, a.AllowDiverge.At))
	}
	return out
}
