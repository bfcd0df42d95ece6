package process

import (
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// totals are figures summed over threads and processes. The first six are cumulative; a negative figure is unknown.
type totals struct {
	user, system, wait     time.Duration
	voluntary, involuntary int64
	minor, major           int64
	threads, rss, fds      int64
}

// add sums. What is unknown in either is unknown in the sum.
func (t *totals) add(o totals) {
	t.user, t.system = plus(t.user, o.user), plus(t.system, o.system)
	t.wait = plus(t.wait, o.wait)
	t.voluntary, t.involuntary = plus(t.voluntary, o.voluntary), plus(t.involuntary, o.involuntary)
	t.minor, t.major = plus(t.minor, o.minor), plus(t.major, o.major)
	t.threads, t.rss, t.fds = plus(t.threads, o.threads), plus(t.rss, o.rss), plus(t.fds, o.fds)
}

// keep adds the cumulative figures of something that has ended.
func (t *totals) keep(o totals) {
	o.threads, o.rss, o.fds = 0, 0, 0
	t.add(o)
}

// notBelow raises cumulative figures to what was reported before: a child that is waited for between two reads is with its parent and
// with itself for one look.
func (t totals) notBelow(o totals) totals {
	t.user, t.system = atLeast(t.user, o.user), atLeast(t.system, o.system)
	t.wait = atLeast(t.wait, o.wait)
	t.voluntary, t.involuntary = atLeast(t.voluntary, o.voluntary), atLeast(t.involuntary, o.involuntary)
	t.minor, t.major = atLeast(t.minor, o.minor), atLeast(t.major, o.major)
	return t
}

func (t totals) sample() record.ProcessSample {
	return record.ProcessSample{
		CPUUser: t.user, CPUSystem: t.system, RunQueueWait: t.wait,
		Voluntary: t.voluntary, Involuntary: t.involuntary,
		Threads: t.threads, RSSBytes: t.rss, Descriptors: t.fds,
		MinorFaults: t.minor, MajorFaults: t.major,
	}
}

func plus[T ~int64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func atLeast[T ~int64](now, before T) T {
	if now < 0 {
		return now
	}
	return max(now, before)
}
