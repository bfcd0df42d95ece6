package report

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// Diagnosis is a diagnosis with the dumps on which it rests.
type Diagnosis struct {
	Report diagnose.Report
	Dumps  []DumpView
}

// DumpView is a dump with its name: a file, or a service and a time.
type DumpView struct {
	Name string
	*dump.Summary
}

const (
	mostPools  = 20 // pools of a dump that are shown on a terminal …
	mostOfStep = 3  // … and of each of several steps
	mostStacks = 5  // groups of identical stacks
	mostFrames = 12 // of a stack on a page
)

// DiagnosisTerminal writes findings, the binding limit, and what the last dump shows.
func DiagnosisTerminal(w io.Writer, d Diagnosis, style Style) error {
	p := &printer{style: style}
	where := ""
	for _, f := range d.Report.Findings {
		if step, ok := f.Evidence["step"].(string); ok && step != where {
			where = step
			p.line(p.paint(bold, step))
		}
		p.line(p.paint(severityColor(f.Severity), string(f.Severity)) + "  " + string(f.Code))
		p.wrapped("  ", f.Text, "")
		if f.Next != "" {
			p.wrapped("  ", "→ "+f.Next, "")
		}
		if f.Refute != "" {
			p.wrapped("  ", "refuted if "+f.Refute, dim)
		}
	}
	if len(d.Report.Findings) == 0 {
		p.line("nothing found")
	}
	p.line("")
	for _, s := range d.Report.Steps {
		p.limit(s.Step+": ", s.Binding, nil)
	}
	if len(d.Report.Steps) == 0 {
		p.limit("", d.Report.Binding, d.Report.Missing)
	}
	p.pools(d.Report.Pools)
	if len(d.Dumps) > 0 {
		p.dump(d.Dumps[len(d.Dumps)-1])
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

func (p *printer) limit(of string, binding *string, missing []string) {
	name := "not determined"
	if binding != nil {
		name = *binding
	}
	p.line(of + "binding limit: " + name)
	for _, what := range missing {
		p.wrapped("  ", "missing: "+what, dim)
	}
}

func severityColor(s finding.Severity) string {
	if s == finding.Info {
		return dim
	}
	return red
}

func (p *printer) pools(pools []diagnose.Pool) {
	if len(pools) == 0 {
		return
	}
	p.line("")
	p.line("threads   idle  pool: what the others do")
	step, shown, most := "", 0, mostPools
	for _, pool := range pools {
		if pool.Step != step {
			step, shown, most = pool.Step, 0, mostOfStep
			p.line(p.paint(bold, step))
		}
		if shown++; shown > most {
			continue
		}
		p.line(fmt.Sprintf("%7s %6s  %s%s", orUnknown(pool.Threads), orUnknown(pool.Idle), poolName(pool), waitsText(pool.Waiting)))
	}
	if left := shown - most; left > 0 && step == "" {
		p.line(fmt.Sprintf("        and %d more", left))
	}
}

func poolName(p diagnose.Pool) string {
	if p.Service == "" {
		return p.Name
	}
	return p.Service + "/" + p.Name
}

func orUnknown(n *int) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

// waitsText lists what threads wait for, the most first.
func waitsText(waiting map[string]int) string {
	if len(waiting) == 0 {
		return ""
	}
	reasons := slices.SortedFunc(maps.Keys(waiting), func(a, b string) int {
		if waiting[a] != waiting[b] {
			return waiting[b] - waiting[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, r := range reasons {
		if waiting[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", waiting[r], r))
		}
	}
	return ": " + strings.Join(parts, ", ")
}

// dump shows one dump: states, locks with the chains behind them, and identical stacks.
func (p *printer) dump(d DumpView) {
	p.line("")
	p.line(fmt.Sprintf("%s: %d threads (%s)", d.Name, d.Threads, statesText(d.States)))
	for _, k := range d.Locks[:min(len(d.Locks), mostStacks)] {
		holder := k.Holder
		if holder == "" {
			holder = "unknown"
		}
		p.line(fmt.Sprintf("  lock %s held by %s: %d wait for it, %d behind", strings.TrimSpace(k.Class+" "+k.ID), holder, len(k.Waiters), k.Behind))
	}
	for _, g := range d.Stacks[:min(len(d.Stacks), mostStacks)] {
		p.line(fmt.Sprintf("  %d identical stacks (%s, %s), at %s", g.Count, g.State, g.Reason, frameText(g.Stack[0].Func, g.Stack[0].File, g.Stack[0].Line)))
	}
}

func statesText(states map[string]int) string {
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, fmt.Sprintf("%d %s", states[s], s))
	}
	return strings.Join(parts, ", ")
}

func frameText(call, file string, line int) string {
	if file == "" {
		return call
	}
	return fmt.Sprintf("%s (%s:%d)", call, path.Base(file), line)
}

// DiagnosisHTML writes one self-contained page: findings with their evidence, pools, locks, and identical stacks of every dump.
func DiagnosisHTML(w io.Writer, d Diagnosis) error {
	css, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return err
	}
	functions := template.FuncMap{
		"unknown": orUnknown, "pool": poolName, "waits": func(m map[string]int) string { return strings.TrimPrefix(waitsText(m), ": ") },
		"states": statesText, "evidence": evidenceText, "names": func(n []string) string { return strings.Join(n, ", ") },
		"stack": func(g dump.Group) []string {
			var out []string
			for _, f := range g.Stack[:min(len(g.Stack), mostFrames)] {
				out = append(out, frameText(f.Func, f.File, f.Line))
			}
			return out
		},
		"keys": func(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) },
	}
	page, err := template.New("diagnosis.html").Funcs(functions).ParseFS(assets, "assets/diagnosis.html")
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		Diagnosis
		Style template.CSS
	}{d, template.CSS(css)})
}

// evidenceText is a figure of the evidence; nil pointers are unknown.
func evidenceText(v any) string {
	switch v := v.(type) {
	case *float64:
		if v == nil {
			return "unknown"
		}
		return fmt.Sprintf("%.4g", *v)
	case float64:
		return fmt.Sprintf("%.4g", v)
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}
