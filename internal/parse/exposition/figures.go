package exposition

import (
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/record"
)

// figures are what the samples of one pool told.
type figures struct {
	source *source
	value  [numFields]float64
	known  [numFields]bool
	waits  []record.DistBucket
	runs   []record.DistBucket
}

// put adds a sample. Samples that fall on the same figure are parts of it (events of several kinds, states, instances) and are summed.
// What is negative or not a number is how exporters say that they do not know.
func (f *figures) put(r rule, s sample) {
	v := r.scaled(s.value)
	if math.IsNaN(v) {
		return
	}
	switch r.into {
	case waitBucket:
		f.waits = addBucket(f.waits, r.scaled(s.upper), s.value)
	case runBucket:
		f.runs = addBucket(f.runs, r.scaled(s.upper), s.value)
	case totalBucket, none:
	default:
		if v < 0 && !r.handOff {
			return
		}
		f.value[r.into] += max(0, v)
		f.known[r.into] = true
	}
}

func addBucket(list []record.DistBucket, upper, count float64) []record.DistBucket {
	if math.IsNaN(upper) {
		return list
	}
	for i := range list {
		if list[i].UpperSeconds == upper {
			list[i].Count += count
			return list
		}
	}
	return append(list, record.DistBucket{UpperSeconds: upper, Count: count})
}

// has tells whether all figures are known.
func (f *figures) has(fields ...field) bool {
	return !slices.ContainsFunc(fields, func(x field) bool { return !f.known[x] })
}

// set gives a figure a value unless the exporter told one.
func (f *figures) set(x field, v float64) {
	if f.known[x] {
		return
	}
	f.value[x], f.known[x] = v, true
}

// forget makes a figure unknown.
func (f *figures) forget(x field) { f.known[x] = false }

// pool works out what follows from the figures and makes the sample. It is false where no figure was known.
func (f *figures) pool() (record.PoolSample, bool) {
	f.derive()
	if f.source.finish != nil {
		f.source.finish(f)
	}
	if !slices.Contains(f.known[:], true) {
		return record.PoolSample{}, false
	}
	p := record.PoolSample{
		Kind: f.source.kind, Core: f.at(core), Size: f.at(size), Max: f.at(maximum), Capacity: f.at(capacity), Active: f.at(active), Queue: f.at(queue),
		ActiveMax: f.at(activeMax), QueueMax: f.at(queueMax), Completed: f.at(completed), Rejected: f.at(rejected), TimedOut: f.at(timedOut),
		Waiting: f.at(waiting), QueueWait: f.dist(waitCount, waitSeconds, f.waits), Execution: f.dist(runCount, runSeconds, f.runs),
	}
	return p, true
}

// derive holds for every family.
func (f *figures) derive() {
	if f.has(maximum, free) {
		f.set(active, max(0, f.value[maximum]-f.value[free]))
	}
	if f.has(size, idle) {
		f.set(active, max(0, f.value[size]-f.value[idle]))
	}
	if f.has(active, idle) {
		f.set(size, f.value[active]+f.value[idle])
	}
	if f.has(queue, remaining) {
		f.set(capacity, f.value[queue]+f.value[remaining])
	}
	// By subtraction: those who waited are those who were executed.
	if f.has(totalCount, totalSeconds, runSeconds) {
		f.set(waitCount, f.value[totalCount])
		f.set(waitSeconds, max(0, f.value[totalSeconds]-f.value[runSeconds]))
	}
	if f.has(runCount) {
		f.set(completed, f.value[runCount])
	}
}

func (f *figures) at(x field) *float64 {
	if !f.known[x] {
		return nil
	}
	v := f.value[x]
	return &v
}

// dist is known when both count and sum are.
func (f *figures) dist(count, sum field, buckets []record.DistBucket) *record.Dist {
	if !f.has(count, sum) {
		return nil
	}
	slices.SortFunc(buckets, func(a, b record.DistBucket) int {
		switch {
		case a.UpperSeconds < b.UpperSeconds:
			return -1
		case a.UpperSeconds > b.UpperSeconds:
			return 1
		}
		return 0
	})
	return &record.Dist{Count: f.value[count], Seconds: f.value[sum], Buckets: buckets}
}
