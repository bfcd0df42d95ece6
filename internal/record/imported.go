package record

import "time"

// Imported says what an imported cell is made of. Cells that Loadline measured itself have none.
type Imported struct {
	Tool    string // jmeter, ab, wrk, …
	Variant string // the form that was recognised, such as «CSV» or «text with latency distribution»
	Latency LatencyMeaning
	Caveats []ImportCaveat
	// Summary holds figures that the tool had computed already. It is nil where every request was imported, and the intervals say it all.
	Summary *Summary
}

// LatencyMeaning says what another tool's latency covers.
type LatencyMeaning struct {
	From           string // sent, planned or connect: where the clock starts
	Connect        bool   // time to connect is part of it
	ErrorsIncluded bool   // latencies of failed requests are part of the distribution
}

// ImportCaveat is a reason to doubt an imported figure.
type ImportCaveat struct {
	Code string // as docs/findings.md lists it
	Text string
}

// Summary is what an aggregate-only format tells. Nil is unknown.
type Summary struct {
	Requests    *float64 // sent or completed, as the tool counts
	Failed      *float64 // as the tool counts failures, without those below
	Rejected    *float64 // answered 429 or 503
	TimedOut    *float64
	Connection  *float64 // refused, reset and other failures to connect, read or write
	Seconds     *float64
	RatePerSec  *float64 // completed per second, as the tool prints it
	Mean        *time.Duration
	Stdev       *time.Duration
	Min         *time.Duration
	Max         *time.Duration
	Percentiles []Percentile // rising
	Buckets     *Buckets     // where the tool printed a histogram instead of percentiles
	Codes       map[string]int64
	BytesRead   *float64
}

// Percentile is one quantile as a tool printed it.
type Percentile struct {
	Q     float64 // 0…1
	Value time.Duration
}

// Buckets is a coarse histogram as a tool printed it.
type Buckets struct {
	Upper  []time.Duration // rising; the largest duration stands for no bound
	Counts []int64         // in the bucket, as many as Upper
}
