// Package queueing holds the closed forms and exact chains that Loadline's predictions, bounds and tests rest on: M/M/1, M/M/c, M/M/c/K,
// M/G/1, the machine repairman, closed networks with multi-servers, asymptotic bounds, and threads that hold connections.
//
// Times are seconds and rates per second, as float64, since formulas divide them; names end in the unit. What is called response is the time
// in the system, wait the time before service. Stations outside their domain give an error, never a number: an open queue offered
// more than it can serve has no mean.
//
// Everything is pure and safe for concurrent use.
package queueing

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// ErrUnstable says that an open station is offered at least what it can serve: its queue grows without end.
var ErrUnstable = errors.New("offered load is not below capacity")

// ErrInfeasible says that no load and no size meet a percentile: the service time alone breaks it.
var ErrInfeasible = errors.New("infeasible at any load and size")

// positive joins a fault for each named value that is not above zero and finite.
func positive(named map[string]float64) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(named)) {
		v := named[name]
		if !(v > 0) || math.IsInf(v, 0) {
			faults = append(faults, fmt.Errorf("%s = %v: allowed is a number above 0", name, v))
		}
	}
	return errors.Join(faults...)
}

// MM1 is one server with Poisson arrivals and exponential service.
//
// Source: L. Kleinrock, Queueing Systems I (1975), section 3.2; the response time is exponential with rate μ − λ (section 5.8).
type MM1 struct {
	ArrivalPerSec float64 // λ
	ServiceSec    float64 // 1/μ
}

// Validate says what is outside the model: rates not above zero, or λ >= μ (ErrUnstable).
func (q MM1) Validate() error {
	return MMc{ArrivalPerSec: q.ArrivalPerSec, ServiceSec: q.ServiceSec, Servers: 1}.Validate()
}

// Utilisation is ρ = λ/μ.
func (q MM1) Utilisation() float64 { return q.ArrivalPerSec * q.ServiceSec }

// InSystem is the mean number waiting or served, ρ/(1−ρ).
func (q MM1) InSystem() float64 { return q.Utilisation() / (1 - q.Utilisation()) }

// Waiting is the mean number waiting, ρ²/(1−ρ).
func (q MM1) Waiting() float64 { return q.Utilisation() * q.InSystem() }

// ResponseSec is the mean response time, 1/(μ−λ).
func (q MM1) ResponseSec() float64 { return q.ServiceSec / (1 - q.Utilisation()) }

// ResponseQuantileSec is the share's response time (0 < share < 1), −ln(1−share)/(μ−λ).
func (q MM1) ResponseQuantileSec(share float64) float64 { return -math.Log1p(-share) * q.ResponseSec() }

// AtLeast is the probability of n or more in the system, ρⁿ.
func (q MM1) AtLeast(n int) float64 { return math.Pow(q.Utilisation(), float64(n)) }

// ErlangB is the share of arrivals lost by c servers without a queue that are offered a erlangs; any a >= 0 is allowed, c < 1 loses all.
//
// Source: A. K. Erlang (1917); recursion B(c) = aB(c−1)/(c + aB(c−1)), e.g. Gross and Harris, Fundamentals of Queueing Theory, section 2.5.
func ErlangB(offered float64, servers int) float64 {
	b := 1.0
	for c := 1; c <= servers; c++ {
		b = offered * b / (float64(c) + offered*b)
	}
	return b
}

// ErlangC is the share of arrivals that wait before c servers with an unbounded queue; 1 where a >= c.
func ErlangC(offered float64, servers int) float64 {
	rho := offered / float64(servers)
	if rho >= 1 {
		return 1
	}
	b := ErlangB(offered, servers)
	return b / (1 - rho*(1-b))
}

// OfferedAtBlocking is the load in erlangs at which c servers without a queue lose the given share (0…1, exclusive).
func OfferedAtBlocking(servers int, blocking float64) float64 {
	hi := 1.0
	for ErlangB(hi, servers) < blocking {
		hi *= 2
	}
	return bisect(0, hi, func(a float64) bool { return ErlangB(a, servers) < blocking })
}

// bisect finds where below turns false between lo and hi, to the last digits of a float64.
func bisect(lo, hi float64, below func(float64) bool) float64 {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// MMc is c servers with one unbounded queue, first come first served.
//
// Source: Gross and Harris, Fundamentals of Queueing Theory, sections 2.3 and 2.4.
type MMc struct {
	ArrivalPerSec float64
	ServiceSec    float64
	Servers       int
}

// Validate says what is outside the model.
func (q MMc) Validate() error {
	err := positive(map[string]float64{"ArrivalPerSec": q.ArrivalPerSec, "ServiceSec": q.ServiceSec, "Servers": float64(q.Servers)})
	if err == nil && q.Utilisation() >= 1 {
		return fmt.Errorf("%w: %g/s × %g s on %d servers", ErrUnstable, q.ArrivalPerSec, q.ServiceSec, q.Servers)
	}
	return err
}

// Offered is a = λ/μ, in erlangs.
func (q MMc) Offered() float64 { return q.ArrivalPerSec * q.ServiceSec }

// Utilisation is ρ = a/c.
func (q MMc) Utilisation() float64 { return q.Offered() / float64(q.Servers) }

// WaitProbability is Erlang's C.
func (q MMc) WaitProbability() float64 { return ErlangC(q.Offered(), q.Servers) }

// drain is cμ − λ.
func (q MMc) drain() float64 { return float64(q.Servers)/q.ServiceSec - q.ArrivalPerSec }

// WaitSec is the mean wait, C/(cμ−λ).
func (q MMc) WaitSec() float64 { return q.WaitProbability() / q.drain() }

// ResponseSec is the mean response time.
func (q MMc) ResponseSec() float64 { return q.WaitSec() + q.ServiceSec }

// Waiting is the mean number waiting (Little's law).
func (q MMc) Waiting() float64 { return q.ArrivalPerSec * q.WaitSec() }

// WaitTail is P(wait > t) = C·e^{−(cμ−λ)t}.
func (q MMc) WaitTail(sec float64) float64 { return q.WaitProbability() * math.Exp(-q.drain()*sec) }

// ResponseTail is P(response > t) = e^{−μt}·(1 + C·(1 − e^{−μtd})/d) with d = c − 1 − a, whose limit at d = 0 is e^{−μt}(1 + Cμt).
func (q MMc) ResponseTail(sec float64) float64 {
	x := sec / q.ServiceSec
	d := float64(q.Servers) - 1 - q.Offered()
	late := x
	if d != 0 {
		late = -math.Expm1(-x*d) / d
	}
	// Where d is negative and x large, e^{−xd} overflows while e^{−x} vanishes; their product e^{−x(1+d)} is taken first.
	if math.IsInf(late, 0) {
		return q.WaitProbability() * math.Exp(-x*(1+d)) / -d
	}
	return math.Exp(-x) * (1 + q.WaitProbability()*late)
}

// ResponseQuantileSec is the share's response time (0 < share < 1), by bisection on ResponseTail.
func (q MMc) ResponseQuantileSec(share float64) float64 {
	hi := q.ServiceSec
	for q.ResponseTail(hi) > 1-share {
		hi *= 2
	}
	return bisect(0, hi, func(t float64) bool { return q.ResponseTail(t) > 1-share })
}

// MaxRateWithin is the largest arrival rate at which the share of responses takes at most the bound, on c servers with exponential service.
// ErrInfeasible where the service alone breaks it: S·ln(1/(1−share)) > bound at any number of servers.
func MaxRateWithin(servers int, serviceSec, share, boundSec float64) (perSec float64, err error) {
	if err := positive(map[string]float64{"servers": float64(servers), "serviceSec": serviceSec, "boundSec": boundSec}); err != nil {
		return 0, err
	}
	if alone := -math.Log1p(-share) * serviceSec; alone >= boundSec {
		return 0, fmt.Errorf("%w: an exponential service of %g s alone has its p%g at %g s, above %g s", ErrInfeasible, serviceSec, share*100, alone, boundSec)
	}
	return bisect(0, float64(servers)/serviceSec, func(rate float64) bool {
		if rate <= 0 {
			return true
		}
		q := MMc{ArrivalPerSec: rate, ServiceSec: serviceSec, Servers: servers}
		return q.Utilisation() < 1 && q.ResponseTail(boundSec) <= 1-share
	}), nil
}

// MMcK is c servers and room for K requests in all; arrivals that find it full are rejected. It has a steady state at any load.
type MMcK struct {
	ArrivalPerSec float64
	ServiceSec    float64
	Servers       int
	Room          int // K >= Servers, those in service included
}

// Validate says what is outside the model.
func (q MMcK) Validate() error {
	err := positive(map[string]float64{"ArrivalPerSec": q.ArrivalPerSec, "ServiceSec": q.ServiceSec, "Servers": float64(q.Servers)})
	if q.Room < q.Servers {
		err = errors.Join(err, fmt.Errorf("room = %d: allowed is at least the servers, %d", q.Room, q.Servers))
	}
	return err
}

// Probabilities are those of 0…K requests in the system.
func (q MMcK) Probabilities() []float64 {
	return birthDeath(q.Room, func(int) float64 { return q.ArrivalPerSec },
		func(n int) float64 { return float64(min(n, q.Servers)) / q.ServiceSec })
}

// birthDeath solves a chain on 0…top with the given rates up from n and down from n. The products are scaled as they grow.
func birthDeath(top int, up, down func(n int) float64) []float64 {
	p := make([]float64, top+1)
	p[0] = 1
	sum := 1.0
	for n := 1; n <= top; n++ {
		p[n] = p[n-1] * up(n-1) / down(n)
		sum += p[n]
		if sum > 1e200 {
			for i := 0; i <= n; i++ {
				p[i] /= sum
			}
			sum = 1
		}
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Figures are the means of a station with a bounded room.
type Figures struct {
	ThroughputPerSec float64
	RejectedRatio    float64 // of arrivals, 0…1
	InSystem         float64
	ResponseSec      float64 // of those admitted
	WaitSec          float64
	BusyServers      float64
}

// Figures solves the station.
func (q MMcK) Figures() Figures {
	p := q.Probabilities()
	var f Figures
	for n, v := range p {
		f.InSystem += float64(n) * v
		f.BusyServers += float64(min(n, q.Servers)) * v
	}
	f.RejectedRatio = p[q.Room]
	f.ThroughputPerSec = q.ArrivalPerSec * (1 - f.RejectedRatio)
	f.ResponseSec = f.InSystem / f.ThroughputPerSec
	f.WaitSec = f.ResponseSec - q.ServiceSec
	return f
}

// MG1 is one server with Poisson arrivals and any service time of which mean and variation are known.
//
// Source: F. Pollaczek (1930), A. Khinchine (1932); e.g. Kleinrock, Queueing Systems I, section 5.7.
type MG1 struct {
	ArrivalPerSec float64
	ServiceSec    float64 // mean
	SCV           float64 // variance over squared mean of the service time: 0 constant, 1 exponential
}

// Validate says what is outside the model.
func (q MG1) Validate() error {
	err := MM1{ArrivalPerSec: q.ArrivalPerSec, ServiceSec: q.ServiceSec}.Validate()
	if !(q.SCV >= 0) {
		err = errors.Join(err, fmt.Errorf("squared coefficient of variation = %v: allowed is 0 or more", q.SCV))
	}
	return err
}

// WaitSec is the mean wait under any order that does not look at service times, ρS(1+c²)/(2(1−ρ)).
func (q MG1) WaitSec() float64 {
	rho := q.ArrivalPerSec * q.ServiceSec
	return rho * q.ServiceSec * (1 + q.SCV) / (2 * (1 - rho))
}

// ResponseSec is the mean response time, first come first served.
func (q MG1) ResponseSec() float64 { return q.WaitSec() + q.ServiceSec }

// SharedResponseSec is the mean response time under processor sharing, S/(1−ρ), whatever the variation.
func (q MG1) SharedResponseSec() float64 {
	return q.ServiceSec / (1 - q.ArrivalPerSec*q.ServiceSec)
}

// Repairman is a closed loop: N clients that think and then wait for one of m servers with a common queue (machine repairman model, M/M/m//N).
type Repairman struct {
	Clients    int
	ThinkSec   float64 // mean; 0 is allowed
	ServiceSec float64
	Servers    int
}

// Validate says what is outside the model.
func (q Repairman) Validate() error {
	err := positive(map[string]float64{"Clients": float64(q.Clients), "ServiceSec": q.ServiceSec, "Servers": float64(q.Servers)})
	if !(q.ThinkSec >= 0) {
		err = errors.Join(err, fmt.Errorf("think time = %v s: allowed is 0 or more", q.ThinkSec))
	}
	return err
}

// Figures solves the loop. Nothing is rejected.
func (q Repairman) Figures() Figures {
	if q.ThinkSec == 0 { // all clients are always in the system
		busy := float64(min(q.Clients, q.Servers))
		f := Figures{ThroughputPerSec: busy / q.ServiceSec, InSystem: float64(q.Clients), BusyServers: busy}
		f.ResponseSec = f.InSystem / f.ThroughputPerSec
		f.WaitSec = f.ResponseSec - q.ServiceSec
		return f
	}
	p := birthDeath(q.Clients, func(n int) float64 { return float64(q.Clients-n) / q.ThinkSec },
		func(n int) float64 { return float64(min(n, q.Servers)) / q.ServiceSec })
	var f Figures
	for n, v := range p {
		f.InSystem += float64(n) * v
		f.BusyServers += float64(min(n, q.Servers)) * v
	}
	f.ThroughputPerSec = f.BusyServers / q.ServiceSec
	f.ResponseSec = f.InSystem / f.ThroughputPerSec
	f.WaitSec = f.ResponseSec - q.ServiceSec
	return f
}
