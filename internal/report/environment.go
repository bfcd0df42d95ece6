package report

import (
	"strconv"

	"github.com/loadline-dev/loadline/internal/analysis"
)

// fact is a named value.
type fact struct{ Name, Value string }

// environment lists what a run's figures depend on besides its plan; what is not known is left out.
func environment(r *analysis.Result) []fact {
	e := r.Environment
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	add("host", e.Host)
	add("system", e.OS)
	add("kernel", e.Kernel)
	add("processor", e.CPUModel)
	if e.Cores > 0 {
		add("cores", strconv.Itoa(e.Cores))
	}
	if e.MemoryByte > 0 {
		add("memory", numeral(float64(e.MemoryByte)/(1<<30))+" GiB")
	}
	add("Go", e.Go)
	add("Loadline", e.Loadline)
	for _, name := range sortedKeys(e.Limits) {
		add(name, e.Limits[name])
	}
	return out
}
