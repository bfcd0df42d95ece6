package registry

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/hystrix"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/properties"
	"github.com/loadline-dev/loadline/pool"
)

// ParseHystrix reads Netflix Hystrix's property names as they stand (hystrix.command.KEY.…, hystrix.threadpool.KEY.…, in the form of a
// .properties text) and gives the document that means the same for the members and keys that there are, for Apply. Hystrix's
// precedence holds: a key's own property stands above what the code set, and that above the property of «default». Built-in defaults
// of Hystrix are not imposed: start from command.HystrixSettings for those. The findings name Hystrix's traps in the text, and
// properties without a counterpart here; an error is a value that cannot be read. Everything else of the document in force
// (downstreams, tiers, schedule, bulkheads) is kept.
func (r *Registry) ParseHystrix(text string) (Document, []Finding, error) {
	props, faults := properties.Parse(text, "")
	read := hystrix.Read(props)
	sys := read.Limits()
	sys.Faults = append(faults, sys.Faults...)
	findings := []Finding{}
	var err error
	for _, f := range lint.Check(sys).Findings {
		findings = append(findings, Finding{Code: string(f.Code), Severity: string(f.Severity), Text: f.Text, Keys: f.Keys, Evidence: f.Evidence, Next: f.Next})
		if f.Code == lint.InvalidValue && err == nil {
			err = fmt.Errorf("line %d: %s; %s", f.Line, f.Text, f.Next)
		}
	}
	findings = append(findings, withoutCounterpart(props)...)
	if err != nil {
		return Document{}, findings, err
	}
	d, _ := r.Document()
	d.Pools, d.Commands = r.hystrixPools(&read), r.hystrixCommands(&read)
	return d, findings, nil
}

// withoutCounterpart names properties that are read and mean nothing here.
func withoutCounterpart(props []limits.Property) []Finding {
	var out []Finding
	for _, p := range props {
		for _, name := range []string{"metrics.rollingPercentile.", "requestCache.enabled", "requestLog.enabled", "interruptOnFutureCancel", "metrics.rollingStats.numBuckets",
			"metrics.healthSnapshot.intervalInMilliseconds", "threadPoolKeyOverride", "interruptOnTimeout", "hystrix.collapser."} {
			if !strings.HasPrefix(p.At.Key, "hystrix.") || !strings.Contains(p.At.Key, name) {
				continue
			}
			out = append(out, Finding{Code: string(lint.SettingWithoutEffect), Severity: string(finding.Info), Text: p.At.Key + ": nothing here has such a setting",
				Keys: []string{p.At.Key}, Evidence: map[string]any{}, Next: "leave it out; metrics keep whole histograms, contexts end at the timeout, pools are given in code"})
			break
		}
	}
	return out
}

// named is the registered and the written names of a kind.
func (r *Registry) named(kind Kind, written []string) []string {
	out := slices.Clone(written)
	for _, e := range r.entries() {
		if e.kind == kind {
			out = append(out, e.name)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == hystrix.DefaultKey })
}

// taken decides whether a property in force reaches a member: its own always, the default's only where the code has not set the value.
type taken struct {
	section Section
	own     string // the prefix of the member's own properties
	code    Section
}

func (t taken) put(at limits.At, given bool, key string, value any) {
	_, inCode := t.code.at(key)
	if !given || inCode && !strings.HasPrefix(at.Key, t.own) {
		return
	}
	if head, tail, nested := strings.Cut(key, "."); nested {
		inner, _ := sectionOf(t.section[head])
		t.section[head] = inner.over(Section{tail: value})
		return
	}
	t.section[key] = value
}

func put[T any](t taken, o limits.Of[T], key string, value any) { t.put(o.At, o.Given, key, value) }

func (r *Registry) codeOf(kind Kind, name string) Section {
	r.changing.Lock()
	defer r.changing.Unlock()
	for _, e := range r.entries() {
		if e.kind == kind && e.name == name {
			e.reconcile()
			return e.code
		}
	}
	return Section{}
}

func (r *Registry) hystrixPools(read *hystrix.Settings) map[string]Section {
	out := map[string]Section{}
	for _, name := range r.named(Pool, read.PoolKeys()) {
		p := read.Pool(name)
		common := p.Common()
		t := taken{section: Section{}, own: "hystrix.threadpool." + name + ".", code: r.codeOf(Pool, name)}
		put(t, p.CoreSize, "core", common.Core.Value)
		put(t, p.CoreSize, "max", common.Max.Value)
		if p.AllowDiverge.Value {
			put(t, p.MaximumSize, "max", common.Max.Value)
		}
		put(t, p.MaxQueueSize, "queue", common.Queue.Value)
		if common.Threshold.Known {
			put(t, p.QueueSizeRejectionThreshold, "threshold", threshold(p.QueueSizeRejectionThreshold.Value))
		}
		if p.MaxQueueSize.Given && common.Threshold.Known && !p.QueueSizeRejectionThreshold.Given {
			t.section["threshold"] = threshold(p.QueueSizeRejectionThreshold.Value) // Hystrix's default cuts the queue.
		}
		if p.KeepAlive.Value > 0 {
			put(t, p.KeepAlive, "keep_alive", p.KeepAlive.Value.String())
		}
		if len(t.section) > 0 {
			out[name] = t.section
		}
	}
	return out
}

func threshold(n int) any {
	if n == 0 {
		return special["threshold"][pool.RefuseAll]
	}
	return n
}

func (r *Registry) hystrixCommands(read *hystrix.Settings) map[string]Section {
	out := map[string]Section{}
	for _, name := range r.named(Command, read.CommandKeys()) {
		c := read.Command(name)
		t := taken{section: Section{}, own: "hystrix.command." + name + ".", code: r.codeOf(Command, name)}
		isolation := "semaphore"
		if c.Threaded() {
			isolation = "pool"
		}
		put(t, c.Strategy, "isolation", isolation)
		put(t, c.Timeout, "timeout", max(c.Timeout.Value, time.Millisecond).String())
		put(t, c.TimeoutEnabled, "no_timeout", !c.TimeoutEnabled.Value)
		put(t, c.SemaphorePermits, "max_concurrent", max(c.SemaphorePermits.Value, 1))
		put(t, c.FallbackPermits, "fallback_max", c.FallbackPermits.Value)
		put(t, c.FallbackEnabled, "no_fallback", !c.FallbackEnabled.Value)
		hystrixBreaker(t, c)
		if len(t.section) > 0 {
			out[name] = t.section
		}
	}
	return out
}

func hystrixBreaker(t taken, c hystrix.Command) {
	put(t, c.RequestVolumeThreshold, "breaker.min_volume", max(c.RequestVolumeThreshold.Value, 1))
	put(t, c.ErrorThresholdPercentage, "breaker.failure_ratio", float64(c.ErrorThresholdPercentage.Value)/100)
	put(t, c.SleepWindow, "breaker.sleep_window", max(c.SleepWindow.Value, time.Millisecond).String())
	put(t, c.RollingWindow, "breaker.window_length", c.RollingWindow.Value.String())
	force := "auto"
	switch {
	case !c.BreakerEnabled.Value:
		force = "disabled"
	case c.ForceOpen.Value:
		force = "forced-open"
	case c.ForceClosed.Value:
		force = "forced-closed"
	}
	given := c.BreakerEnabled
	for _, o := range []limits.Of[bool]{c.ForceClosed, c.ForceOpen} {
		if o.Given && (o.Value || !given.Given) {
			given = o
		}
	}
	put(t, given, "breaker.force", force)
}
