package lint

import (
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// faults turns what a reader could not take into findings, one kind a rule.
func faults(kind limits.Kind) func(*scene) []Finding {
	return func(s *scene) []Finding {
		var out []Finding
		for _, f := range s.Faults {
			if f.Kind != kind {
				continue
			}
			code, severity := codeOf(kind)
			out = append(out, report(code, severity, f.At.Key+": "+f.Text, f.Next, nil, append([]limits.At{f.At}, f.Also...)...))
		}
		return out
	}
}

func codeOf(kind limits.Kind) (finding.Code, finding.Severity) {
	switch kind {
	case limits.Invalid:
		return InvalidValue, finding.Critical
	case limits.Unknown:
		return UnknownKey, finding.Warning
	case limits.WithoutEffect:
		return SettingWithoutEffect, finding.Warning
	default:
		return ValueUnresolved, finding.Info
	}
}
