package interchange

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
)

// WritePrometheus writes a run's figures as Prometheus text, for a push gateway or a textfile collector: one sample a cell, labelled with run, cell,
// the setting's values (setting_NAME), load and repeat. Times are seconds. What is unknown has no sample.
func WritePrometheus(w io.Writer, r analysis.Result) error {
	var t promText
	for i := range r.Cells {
		t.cell(r.ID, &r.Cells[i])
	}
	for _, name := range t.order {
		if _, err := expfmt.MetricFamilyToText(w, t.families[name]); err != nil {
			return err
		}
	}
	return nil
}

// promText gathers families in the order of their first sample.
type promText struct {
	families map[string]*dto.MetricFamily
	order    []string
}

func (t *promText) family(name, help string, kind dto.MetricType) *dto.MetricFamily {
	f := t.families[name]
	if f == nil {
		f = &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
		if t.families == nil {
			t.families = map[string]*dto.MetricFamily{}
		}
		t.families[name] = f
		t.order = append(t.order, name)
	}
	return f
}

func (t *promText) gauge(name, help string, labels []*dto.LabelPair, value *float64) {
	if value == nil {
		return
	}
	f := t.family(name, help, dto.MetricType_GAUGE)
	f.Metric = append(f.Metric, &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: value}})
}

func (t *promText) cell(run string, c *analysis.CellResult) {
	labels := cellLabels(run, c)
	for _, o := range record.Outcomes() {
		t.gauge("loadline_requests", "Requests planned inside the window, by how they ended.", with(labels, "outcome", o.String()), new(float64(c.Outcomes.Of(o))))
	}
	t.gauge("loadline_window_seconds", "Measured time.", labels, &c.Window.Seconds)
	t.gauge("loadline_offered_per_second", "Requests planned.", labels, c.Rates.Offered)
	t.gauge("loadline_completed_per_second", "Answers of any kind.", labels, c.Rates.Completed)
	t.gauge("loadline_success_per_second", "Answers as wished.", labels, c.Rates.Success)
	t.gauge("loadline_goodput_per_second", "Successes within the objective's latency bound.", labels, c.Rates.Goodput)
	t.gauge("loadline_rejected_ratio", "Refusals among the answers.", labels, c.RejectedRatio)
	t.latency(labels, c.Latency)
	t.gauge("loadline_host_cpu_ratio", "Use of the machine's cores, 1 is all of them.", labels, c.HostCPURatio)
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[name]
		of := with(labels, "service", name)
		t.gauge("loadline_service_cpu_ratio", "CPU of a service, 1 is one core.", of, s.CPURatio)
		t.gauge("loadline_service_threads", "Most threads of a service.", of, s.Threads)
		t.gauge("loadline_service_resident_bytes", "Most memory of a service.", of, s.RSSBytes)
		t.gauge("loadline_service_voluntary_switches_per_second", "Context switches of threads that wait.", of, s.Switches.Voluntary)
		t.gauge("loadline_service_involuntary_switches_per_second", "Context switches of threads that are preempted.", of, s.Switches.Involuntary)
	}
}

// latency writes a summary of the successes: those of its quantiles that enough samples show.
func (t *promText) latency(labels []*dto.LabelPair, l analysis.Latency) {
	if l.Mean == nil {
		return
	}
	sum := *l.Mean / 1000 * float64(l.N)
	s := &dto.Summary{SampleCount: new(uint64(l.N)), SampleSum: &sum}
	for _, q := range []struct {
		q  float64
		ms *float64
	}{{0.5, l.P50}, {0.9, l.P90}, {0.95, l.P95}, {0.99, l.P99}, {0.999, l.P999}, {1, l.Max}} {
		if q.ms != nil {
			s.Quantile = append(s.Quantile, &dto.Quantile{Quantile: new(q.q), Value: new(*q.ms / 1000)})
		}
	}
	f := t.family("loadline_latency_seconds", "Latency of successes.", dto.MetricType_SUMMARY)
	f.Metric = append(f.Metric, &dto.Metric{Label: labels, Summary: s})
}

func cellLabels(run string, c *analysis.CellResult) []*dto.LabelPair {
	labels := with(nil, "run", run)
	labels = with(labels, "cell", strconv.Itoa(c.Index))
	for _, f := range c.Setting {
		labels = with(labels, "setting_"+strings.Map(labelRune, f.Name), record.Setting{{Name: "v", Value: f.Value}}.Key()[len("v="):])
	}
	labels = with(labels, "model", string(c.Load.Model))
	labels = with(labels, "load", c.Load.String())
	return with(labels, "repeat", strconv.Itoa(c.Repeat))
}

// with adds a label to a copy.
func with(labels []*dto.LabelPair, name, value string) []*dto.LabelPair {
	return append(slices.Clone(labels), &dto.LabelPair{Name: &name, Value: &value})
}

// labelRune keeps what a label's name may hold.
func labelRune(r rune) rune {
	if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '_'
}
