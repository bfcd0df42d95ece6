package plan

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// Parse reads a plan. The name stands in messages; data is the file's text. The error is an *InvalidError with every fault found in
// any of the plan's settings.
func Parse(name string, data []byte) (*Plan, error) {
	out := &faults{file: name}
	root := readTree(data, out)
	if root == nil {
		return nil, out.err()
	}
	p := &Plan{File: name, Source: slices.Clone(data), root: root}
	p.readVary(out)
	if err := out.err(); err != nil {
		return nil, p.withRest(out)
	}
	p.read(&reader{faults: out, keepRefs: true}, fill(root, p.Settings()[0]))
	if p.varies() {
		for _, s := range p.Settings() {
			filled := *p
			filled.read(&reader{faults: out}, fill(root, s))
		}
	}
	if err := out.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// withRest reads what stands outside a faulty vary, so that the user sees the other faults at once. Its references cannot be filled
// in, so only faults of what holds none are told.
func (p *Plan) withRest(out *faults) error {
	scratch := &faults{file: out.file}
	(&Plan{}).read(&reader{faults: scratch, keepRefs: true}, p.root)
	for _, f := range scratch.all {
		if !strings.Contains(f.Found, "${") {
			out.add(f)
		}
	}
	return out.err()
}

// varies tells whether anything depends on the setting.
func (p *Plan) varies() bool { return len(p.Vary) > 0 }

// Settings are the combinations of the varied values, in the plan's order; one empty setting where nothing varies.
func (p *Plan) Settings() []record.Setting {
	if len(p.Vary) == 0 {
		return []record.Setting{nil}
	}
	return p.Vary
}

// ForSetting is the plan with the values of one of its settings in the place of every ${name}. Vary holds that setting alone.
func (p *Plan) ForSetting(s record.Setting) (*Plan, error) {
	out := *p
	out.Vary = nil
	if len(s) > 0 {
		out.Vary = []record.Setting{s}
	}
	if p.root == nil {
		return &out, nil
	}
	collected := &faults{file: p.File}
	used := map[string]bool{}
	p.eachOutsideVary(func(key string, n *node) { references(n, key, names(s), used, collected) })
	if err := collected.err(); err != nil {
		return nil, err
	}
	out.read(&reader{faults: collected}, fill(p.root, s))
	if err := collected.err(); err != nil {
		return nil, err
	}
	// What is the same for all settings is as the plan has it now: who made it may have changed it since.
	out.Name, out.SLO, out.Load.Model = p.Name, p.SLO, p.Load.Model
	if p.quick {
		out.Load = out.Load.quick()
	}
	return &out, nil
}

// Quick is the plan with durations for a first look: 0.5 s of warm-up, 2.5 s measured, nothing thrown away, 0.3 s of rest.
func (p *Plan) Quick() *Plan {
	out := *p
	out.quick = true
	out.Load = p.Load.quick()
	return &out
}

func (l Load) quick() Load {
	l.Warmup, l.Measure, l.Discard, l.Rest = 500*time.Millisecond, 2500*time.Millisecond, 0, 300*time.Millisecond
	if length := schedule.Length(l.Profile); length > 0 {
		// The whole profile in a short time: its rates stay, its stages shrink.
		l.Profile = slices.Clone(l.Profile)
		for i := range l.Profile {
			l.Profile[i].Length = time.Duration(float64(l.Profile[i].Length) * float64(l.Measure) / float64(length))
		}
	}
	return l
}

// read fills the plan from a tree whose references have been filled in.
func (p *Plan) read(r *reader, root *node) {
	f := r.mapping(root, "", "name", "target", "services", "vary", "apply", "load", "observe", "slo")
	if root.kind != mapping {
		return
	}
	f.fixed("name", "slo")
	if n := f.need("name", "the name of the experiment"); n != nil {
		p.Name = r.text(n, "name", "the name of the experiment")
		if found, bad := badTitle(p.Name); bad && n.kind == text {
			f.fail("name", found, "the name of the experiment, one line", "")
		}
	}
	p.Services = r.services(f.find("services"))
	if n := f.need("target", "a mapping with request"); n != nil {
		p.Target = r.target(n)
	}
	p.Apply = r.apply(f.find("apply"))
	if n := f.need("load", "a mapping with concurrency or rate"); n != nil {
		p.Load = r.load(n)
	}
	p.Observe = r.observe(f.find("observe"), p.Services)
	if n := f.find("slo"); n != nil {
		p.SLO = r.slo(n, "slo")
	}
}

// badTitle says what is wrong with the name of an experiment. It is written to terminals as it stands, so that it must not hold
// anything that steers one.
func badTitle(name string) (found string, bad bool) {
	switch {
	case strings.TrimSpace(name) == "":
		return "an empty name", true
	case strings.ContainsFunc(name, unicode.IsControl):
		return "several lines or control characters", true
	}
	return "", false
}

func (p *Plan) eachOutsideVary(visit func(key string, n *node)) {
	for _, e := range p.root.entry {
		if e.key != "vary" {
			visit(e.key, e.value)
		}
	}
}
