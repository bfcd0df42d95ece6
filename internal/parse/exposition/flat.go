package exposition

import (
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// sample is one value with its name as it stands in the text.
type sample struct {
	name   string
	labels []*dto.LabelPair
	value  float64
	upper  float64 // of a bucket
}

func (s sample) label(name string) string {
	for _, l := range s.labels {
		if l.GetName() == name || strings.ReplaceAll(l.GetName(), ".", "_") == name {
			return l.GetValue()
		}
	}
	return ""
}

// flatten turns a family back into the samples that were written: which type a family is said to have differs by exporter and version,
// the samples' names do not. Dots, which newer exporters write in quotes, become underscores.
func flatten(f *dto.MetricFamily) []sample {
	name := strings.ReplaceAll(f.GetName(), ".", "_")
	var out []sample
	add := func(suffix string, m *dto.Metric, value float64) {
		out = append(out, sample{name: name + suffix, labels: m.GetLabel(), value: value})
	}
	for _, m := range f.GetMetric() {
		switch {
		case m.Counter != nil:
			add("", m, m.Counter.GetValue())
		case m.Gauge != nil:
			add("", m, m.Gauge.GetValue())
		case m.Untyped != nil:
			add("", m, m.Untyped.GetValue())
		case m.Summary != nil:
			add("_count", m, float64(m.Summary.GetSampleCount()))
			add("_sum", m, m.Summary.GetSampleSum())
		case m.Histogram != nil:
			add("_count", m, float64(m.Histogram.GetSampleCount()))
			add("_sum", m, m.Histogram.GetSampleSum())
			for _, b := range m.Histogram.GetBucket() {
				out = append(out, sample{name: name + "_bucket", labels: m.GetLabel(), value: float64(b.GetCumulativeCount()), upper: b.GetUpperBound()})
			}
		}
	}
	return untypedBuckets(out)
}

// untypedBuckets finds the upper bound of buckets that were written without a type.
func untypedBuckets(list []sample) []sample {
	for i := range list {
		s := &list[i]
		if s.upper != 0 || !strings.HasSuffix(s.name, "_bucket") {
			continue
		}
		upper, err := strconv.ParseFloat(s.label("le"), 64)
		if err != nil {
			upper = math.NaN()
		}
		s.upper = upper
	}
	return list
}
