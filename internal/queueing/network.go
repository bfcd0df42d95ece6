package queueing

import (
	"errors"
	"fmt"
	"math"
)

// Infinite servers make a station a pure delay.
const Infinite = 0

// Station is one resource of a closed network.
type Station struct {
	Name      string
	DemandSec float64 // visits × service time of one request
	Servers   int     // with one common queue; Infinite: nobody waits
}

// Network is a closed network with one class of clients and a product form: exponential service first come first served, or any service
// that is shared or never waited for.
type Network struct {
	ThinkSec float64
	Stations []Station
}

// Validate joins all faults.
func (w Network) Validate() error {
	var faults []error
	if !(w.ThinkSec >= 0) || math.IsInf(w.ThinkSec, 0) {
		faults = append(faults, fmt.Errorf("think time = %v s: allowed is 0 or more", w.ThinkSec))
	}
	if len(w.Stations) == 0 {
		faults = append(faults, errors.New("no stations: at least one is needed"))
	}
	for _, s := range w.Stations {
		if !(s.DemandSec > 0) || math.IsInf(s.DemandSec, 0) {
			faults = append(faults, fmt.Errorf("station %q: DemandSec = %v: allowed is a number above 0", s.Name, s.DemandSec))
		}
		if s.Servers < 0 {
			faults = append(faults, fmt.Errorf("station %q: Servers = %d: allowed is 1 or more, or Infinite", s.Name, s.Servers))
		}
	}
	return errors.Join(faults...)
}

// Load is the state of a closed network with so many clients.
type Load struct {
	Clients          int
	ThroughputPerSec float64
	ResponseSec      float64   // without think time
	InStation        []float64 // mean number at each station
	Utilisation      []float64 // of each station, per server; of a delay, the mean number in it
}

// Solve gives the exact state for 1…clients clients.
//
// Where every station has one server or is a delay this is mean value analysis; with multi-servers, Buzen's convolution, which gives the
// figures of MVA with marginal probabilities but loses no digits near saturation.
//
// Sources: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", JACM 27 (1980); J. P. Buzen,
// "Computational Algorithms for Closed Queueing Networks with Exponential Servers", CACM 16 (1973).
func (w Network) Solve(clients int) ([]Load, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if clients < 1 {
		return nil, fmt.Errorf("clients = %d: allowed is 1 or more", clients)
	}
	for _, s := range w.Stations {
		if s.Servers > 1 {
			return w.convolve(clients), nil
		}
	}
	return w.meanValues(clients), nil
}

// meanValues is the MVA recursion R_k(n) = D_k(1 + Q_k(n−1)), X = n/(Z + ΣR), Q = XR.
func (w Network) meanValues(clients int) []Load {
	out := make([]Load, 0, clients)
	at := make([]float64, len(w.Stations))
	for n := 1; n <= clients; n++ {
		response := 0.0
		each := make([]float64, len(w.Stations))
		for k, s := range w.Stations {
			each[k] = s.DemandSec
			if s.Servers != Infinite {
				each[k] *= 1 + at[k]
			}
			response += each[k]
		}
		x := float64(n) / (w.ThinkSec + response)
		for k := range each {
			at[k] = x * each[k]
		}
		out = append(out, w.load(n, x, at))
	}
	return out
}

// load collects one state.
func (w Network) load(n int, x float64, at []float64) Load {
	l := Load{Clients: n, ThroughputPerSec: x, ResponseSec: float64(n)/x - w.ThinkSec, InStation: append([]float64(nil), at...)}
	for _, s := range w.Stations {
		l.Utilisation = append(l.Utilisation, x*s.DemandSec/float64(max(1, s.Servers)))
	}
	return l
}

// convolve works with logarithms of the normalisation constants G(0…N): X(n) = G(n−1)/G(n), and the distribution at a station follows from
// its own factors and the constants of the network without it.
func (w Network) convolve(clients int) []Load {
	factors := make([][]float64, 0, len(w.Stations)+1)
	for _, s := range w.Stations {
		factors = append(factors, logFactors(s.DemandSec, s.Servers, clients))
	}
	think := logFactors(w.ThinkSec, Infinite, clients)
	all := think
	for _, f := range factors {
		all = logConvolve(all, f)
	}
	at := make([][]float64, clients+1)
	for n := range at {
		at[n] = make([]float64, len(factors))
	}
	for k, own := range factors {
		rest := think
		for j, f := range factors {
			if j != k {
				rest = logConvolve(rest, f)
			}
		}
		for n := 1; n <= clients; n++ {
			for i := 1; i <= n; i++ {
				at[n][k] += float64(i) * math.Exp(own[i]+rest[n-i]-all[n])
			}
		}
	}
	out := make([]Load, 0, clients)
	for n := 1; n <= clients; n++ {
		out = append(out, w.load(n, math.Exp(all[n-1]-all[n]), at[n]))
	}
	return out
}

// logFactors are ln(Dⁿ / Π min(i, m)) for n = 0…top.
func logFactors(demand float64, servers, top int) []float64 {
	out := make([]float64, top+1)
	for n := 1; n <= top; n++ {
		active := n
		if servers != Infinite {
			active = min(n, servers)
		}
		out[n] = out[n-1] + math.Log(demand) - math.Log(float64(active))
	}
	return out
}

// logConvolve is ln Σ e^{a_i + b_{n−i}}, with the largest term taken out so that nothing over- or underflows.
func logConvolve(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for n := range out {
		most := math.Inf(-1)
		for i := 0; i <= n; i++ {
			most = max(most, a[i]+b[n-i])
		}
		if math.IsInf(most, -1) {
			out[n] = most
			continue
		}
		sum := 0.0
		for i := 0; i <= n; i++ {
			sum += math.Exp(a[i] + b[n-i] - most)
		}
		out[n] = most + math.Log(sum)
	}
	return out
}

// Bounds are the asymptotic bounds of a closed or open system, from demands alone: no distribution, no order of service is assumed.
//
// Source: P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 10 (1978); Lazowska et
// al., Quantitative System Performance (1984), chapter 5.
type Bounds struct {
	DemandSec  float64 // D: all of a request's service
	LargestSec float64 // Dmax: the largest demand per server
	ThinkSec   float64
	Bottleneck string // name of the station with the largest demand per server
}

// Bounds takes the network's demands.
func (w Network) Bounds() Bounds {
	b := Bounds{ThinkSec: w.ThinkSec}
	for _, s := range w.Stations {
		b.DemandSec += s.DemandSec
		if per := s.DemandSec / float64(max(1, s.Servers)); s.Servers != Infinite && per > b.LargestSec {
			b.LargestSec, b.Bottleneck = per, s.Name
		}
	}
	return b
}

// SaturationClients is N* = (D + Z)/Dmax, where the asymptotes of throughput cross; +Inf where nothing saturates.
func (b Bounds) SaturationClients() float64 { return (b.DemandSec + b.ThinkSec) / b.LargestSec }

// MaxThroughputPerSec is 1/Dmax.
func (b Bounds) MaxThroughputPerSec() float64 { return 1 / b.LargestSec }

// ThroughputPerSec bounds X(N): N/(N·D + Z) <= X <= min(N/(D+Z), 1/Dmax).
func (b Bounds) ThroughputPerSec(clients int) (low, high float64) {
	n := float64(clients)
	return n / (n*b.DemandSec + b.ThinkSec), min(n/(b.DemandSec+b.ThinkSec), b.MaxThroughputPerSec())
}

// ResponseSec bounds R(N): max(D, N·Dmax − Z) <= R <= N·D.
func (b Bounds) ResponseSec(clients int) (low, high float64) {
	n := float64(clients)
	return max(b.DemandSec, n*b.LargestSec-b.ThinkSec), n * b.DemandSec
}
