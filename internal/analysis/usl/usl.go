// Package usl fits the Universal Scalability Law to measured throughput and answers what follows from it:
//
//	X(N) = γN / (1 + α(N−1) + βN(N−1))
//
// with γ the throughput of one user, α contention and β coherency. The fit is bounded least squares (0 <= α <= 1, β >= 0, γ > 0): outside those
// bounds the law means nothing. Every parameter comes with its standard error and a t interval with n − p degrees of freedom, and what
// lies outside the tested loads is flagged as extrapolated: from the first third of a curve the law is known to put the peak 30 % too far.
//
// Source: N. J. Gunther, Guerrilla Capacity Planning (2007), chapters 4 and 5; "A General Theory of Computational Scalability Based on
// Rational Functions", arXiv:0808.1431.
package usl

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// MinPoints is the fewest distinct loads that three parameters and an interval can be fitted to.
	MinPoints = 4
	// AdvisedPoints is where the usual tools stop warning.
	AdvisedPoints = 6
)

// Point is one measured load.
type Point struct {
	Concurrency      float64
	ThroughputPerSec float64
}

// Model is the law with its parameters. Concurrencies are users or workers, throughputs per second, responses seconds.
type Model struct {
	Alpha float64 // contention, 0…1
	Beta  float64 // coherency, 0 or more
	Gamma float64 // throughput at N = 1
}

// ThroughputAt is X(N).
func (m Model) ThroughputAt(n float64) float64 {
	return m.Gamma * n / (1 + m.Alpha*(n-1) + m.Beta*n*(n-1))
}

// ResponseAt is R(N) = N/X(N), in seconds.
func (m Model) ResponseAt(n float64) float64 {
	return (1 + m.Alpha*(n-1) + m.Beta*n*(n-1)) / m.Gamma
}

// EfficiencyAt is X(N)/(γN), 0…1.
func (m Model) EfficiencyAt(n float64) float64 { return m.ThroughputAt(n) / (m.Gamma * n) }

// Peak is the load of the largest throughput, √((1−α)/β). ok is false where β = 0: the law has no peak.
func (m Model) Peak() (n float64, ok bool) {
	if m.Beta <= 0 {
		return 0, false
	}
	return math.Sqrt((1 - m.Alpha) / m.Beta), true
}

// Ceiling is γ/α, the throughput that contention alone allows (Amdahl); +Inf where α = 0.
func (m Model) Ceiling() float64 { return m.Gamma / m.Alpha }

// OptimalConcurrency is 1/α, where the line of perfect scaling meets the ceiling; +Inf where α = 0.
func (m Model) OptimalConcurrency() float64 { return 1 / m.Alpha }

// ConcurrencyAtResponse inverts R(N): the load at which the mean response is so many seconds. ok is false below R(1).
func (m Model) ConcurrencyAtResponse(sec float64) (n float64, ok bool) {
	if sec < m.ResponseAt(1) {
		return 0, false
	}
	if m.Beta == 0 {
		if m.Alpha == 0 {
			return 0, false // the response is the same at every load
		}
		return (m.Gamma*sec - 1 + m.Alpha) / m.Alpha, true
	}
	b := m.Alpha - m.Beta
	return (-b + math.Sqrt(b*b-4*m.Beta*(1-m.Alpha-m.Gamma*sec))) / (2 * m.Beta), true
}

// ThroughputAtResponse is X at the load where the mean response is so many seconds. ok as for ConcurrencyAtResponse.
func (m Model) ThroughputAtResponse(sec float64) (perSec float64, ok bool) {
	n, ok := m.ConcurrencyAtResponse(sec)
	return n / sec, ok
}

// ConcurrencyAtThroughput is the smallest load that reaches a throughput. ok is false above the peak or ceiling.
func (m Model) ConcurrencyAtThroughput(perSec float64) (n float64, ok bool) {
	// βX·N² + (αX − βX − γ)·N + X(1−α) = 0.
	a, b, c := m.Beta*perSec, (m.Alpha-m.Beta)*perSec-m.Gamma, perSec*(1-m.Alpha)
	if a == 0 {
		if b >= 0 {
			return 0, false
		}
		return -c / b, true
	}
	disc := b*b - 4*a*c
	if disc < 0 || b > 0 {
		return 0, false
	}
	return 2 * c / (-b + math.Sqrt(disc)), true
}

// ResponseAtThroughput is the mean response at a throughput where contention alone counts, (α−1)/(αX−γ), in seconds. ok is false at or above
// the ceiling.
func (m Model) ResponseAtThroughput(perSec float64) (sec float64, ok bool) {
	free := m.Gamma - m.Alpha*perSec
	return (1 - m.Alpha) / free, free > 0
}

// Estimate is a fitted figure with its uncertainty.
type Estimate struct {
	Value    float64 `json:"value"`
	StdError float64 `json:"std_error"`
	Low      float64 `json:"low"` // 95 % interval, Student's t
	High     float64 `json:"high"`
}

// Fit is the law fitted to points.
type Fit struct {
	Model            Model
	Alpha            Estimate
	Beta             Estimate
	Gamma            Estimate
	ResidualStdError float64 // of throughput, n − p degrees of freedom
	FreeDegrees      int
	MaxTested        float64
	Peak             *Estimate // load of the largest throughput; nil where β = 0
	// PeakExtrapolated says that the peak lies above every tested load.
	PeakExtrapolated bool
	Caveats          []string
}

// Extrapolated tells whether a load lies outside what was tested.
func (f Fit) Extrapolated(n float64) bool { return n > f.MaxTested }

// FitPoints fits the law by bounded least squares. It needs MinPoints different loads above zero and some throughput.
func FitPoints(points []Point) (Fit, error) {
	if err := validate(points); err != nil {
		return Fit{}, err
	}
	best, ok := bestBounded(points)
	if !ok {
		return Fit{}, errors.New("no parameters within 0 <= α <= 1, β >= 0, γ > 0 fit the points")
	}
	return describe(points, best), nil
}

func validate(points []Point) error {
	distinct := map[float64]bool{}
	var faults []error
	some := false
	for i, p := range points {
		if !(p.Concurrency > 0) || math.IsInf(p.Concurrency, 0) {
			faults = append(faults, fmt.Errorf("point %d: concurrency %v: allowed is a number above 0", i+1, p.Concurrency))
		}
		if !(p.ThroughputPerSec >= 0) || math.IsInf(p.ThroughputPerSec, 0) {
			faults = append(faults, fmt.Errorf("point %d: throughput %v: allowed is 0 or more", i+1, p.ThroughputPerSec))
		}
		distinct[p.Concurrency] = true
		some = some || p.ThroughputPerSec > 0
	}
	if len(distinct) < MinPoints {
		faults = append(faults, fmt.Errorf("%d different loads: at least %d are needed to fit three parameters with an interval", len(distinct), MinPoints))
	}
	if !some {
		faults = append(faults, errors.New("no throughput at any load"))
	}
	return errors.Join(faults...)
}

// candidate is a least-squares solution with some parameters held at a bound.
type candidate struct {
	model Model
	free  [3]bool // γ, α, β
	sse   float64
}

// bestBounded solves with every combination of bounds held and keeps the best that lies within them: with three parameters that is
// certain and cheap.
func bestBounded(points []Point) (candidate, bool) {
	var best candidate
	found := false
	for _, alpha := range []float64{math.NaN(), 0, 1} {
		for _, beta := range []float64{math.NaN(), 0} {
			c, ok := leastSquares(points, alpha, beta)
			inside := ok && c.model.Gamma > 0 && c.model.Alpha >= 0 && c.model.Alpha <= 1 && c.model.Beta >= 0
			if inside && (!found || c.sse < best.sse*(1-1e-12)) {
				best, found = c, true
			}
		}
	}
	return best, found
}

// leastSquares is Levenberg's and Marquardt's method. A parameter that is not NaN is held.
func leastSquares(points []Point, alpha, beta float64) (candidate, bool) {
	c := candidate{model: Model{Alpha: 0.01, Beta: 1e-4}, free: [3]bool{true, math.IsNaN(alpha), math.IsNaN(beta)}}
	if !c.free[1] {
		c.model.Alpha = alpha
	}
	if !c.free[2] {
		c.model.Beta = beta
	}
	for _, p := range points {
		c.model.Gamma = max(c.model.Gamma, p.ThroughputPerSec/p.Concurrency)
	}
	c.sse = squares(points, c.model)
	damping := 1e-3
	for range 500 {
		next, ok := c.step(points, damping)
		if !ok || !(next.sse <= c.sse) {
			damping *= 10
			if damping > 1e12 {
				break
			}
			continue
		}
		done := c.sse-next.sse <= 1e-15*c.sse && moved(c.model, next.model) < 1e-10
		c, damping = next, max(damping/10, 1e-12)
		if done {
			break
		}
	}
	return c, !math.IsNaN(c.sse)
}

// moved is the largest relative change of a parameter.
func moved(a, b Model) float64 {
	rel := func(x, y float64) float64 { return math.Abs(x-y) / (math.Abs(x) + math.Abs(y) + 1e-12) }
	return max(rel(a.Alpha, b.Alpha), rel(a.Beta, b.Beta), rel(a.Gamma, b.Gamma))
}

func squares(points []Point, m Model) float64 {
	sum := 0.0
	for _, p := range points {
		d := p.ThroughputPerSec - m.ThroughputAt(p.Concurrency)
		sum += d * d
	}
	return sum
}

// gradient is ∂X/∂(γ, α, β) at a load.
func (m Model) gradient(n float64) [3]float64 {
	den := 1 + m.Alpha*(n-1) + m.Beta*n*(n-1)
	x := m.Gamma * n / den
	return [3]float64{n / den, -x * (n - 1) / den, -x * n * (n - 1) / den}
}

// normal collects JᵀJ and Jᵀr of the free parameters.
func (c candidate) normal(points []Point) (jtj *mat.SymDense, jtr *mat.VecDense, which []int) {
	for i, free := range c.free {
		if free {
			which = append(which, i)
		}
	}
	jtj, jtr = mat.NewSymDense(len(which), nil), mat.NewVecDense(len(which), nil)
	for _, p := range points {
		g := c.model.gradient(p.Concurrency)
		r := p.ThroughputPerSec - c.model.ThroughputAt(p.Concurrency)
		for a, i := range which {
			jtr.SetVec(a, jtr.AtVec(a)+g[i]*r)
			for b := a; b < len(which); b++ {
				jtj.SetSym(a, b, jtj.At(a, b)+g[i]*g[which[b]])
			}
		}
	}
	return jtj, jtr, which
}

// step tries one damped step.
func (c candidate) step(points []Point, damping float64) (candidate, bool) {
	jtj, jtr, which := c.normal(points)
	for i := range which {
		jtj.SetSym(i, i, jtj.At(i, i)*(1+damping))
	}
	var chol mat.Cholesky
	var delta mat.VecDense
	if !chol.Factorize(jtj) || chol.SolveVecTo(&delta, jtr) != nil {
		return c, false
	}
	params := [3]*float64{&c.model.Gamma, &c.model.Alpha, &c.model.Beta}
	for a, i := range which {
		*params[i] += delta.AtVec(a)
	}
	c.sse = squares(points, c.model)
	return c, true
}

// describe adds errors, intervals, the peak and the caveats.
func describe(points []Point, c candidate) Fit {
	f := Fit{Model: c.model}
	jtj, _, which := c.normal(points)
	f.FreeDegrees = len(points) - len(which)
	f.ResidualStdError = math.Sqrt(c.sse / float64(f.FreeDegrees))
	cov := covariance(jtj, which, f.ResidualStdError)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(f.FreeDegrees)}.Quantile(0.975)
	estimate := func(v float64, i int) Estimate {
		se := math.Sqrt(max(0, cov[i][i]))
		return Estimate{Value: v, StdError: se, Low: v - t*se, High: v + t*se}
	}
	f.Gamma, f.Alpha, f.Beta = estimate(c.model.Gamma, 0), estimate(c.model.Alpha, 1), estimate(c.model.Beta, 2)
	for _, p := range points {
		f.MaxTested = max(f.MaxTested, p.Concurrency)
	}
	if n, ok := c.model.Peak(); ok {
		f.Peak = peakEstimate(c.model, n, cov, t)
		f.PeakExtrapolated = f.Extrapolated(n)
	}
	f.Caveats = caveats(points, c, f)
	return f
}

// covariance is σ²(JᵀJ)⁻¹ of the free parameters, zero for those held at a bound.
func covariance(jtj *mat.SymDense, which []int, sigma float64) [3][3]float64 {
	var out [3][3]float64
	var chol mat.Cholesky
	var inv mat.SymDense
	if !chol.Factorize(jtj) || chol.InverseTo(&inv) != nil {
		for _, i := range which {
			out[i][i] = math.Inf(1)
		}
		return out
	}
	for a, i := range which {
		for b, j := range which {
			out[i][j] = sigma * sigma * inv.At(a, b)
		}
	}
	return out
}

// peakEstimate carries the errors of α and β to √((1−α)/β) by the delta method.
func peakEstimate(m Model, n float64, cov [3][3]float64, t float64) *Estimate {
	da, db := -n/(2*(1-m.Alpha)), -n/(2*m.Beta)
	variance := da*da*cov[1][1] + db*db*cov[2][2] + 2*da*db*cov[1][2]
	se := math.Sqrt(max(0, variance))
	return &Estimate{Value: n, StdError: se, Low: max(0, n-t*se), High: n + t*se}
}

func caveats(points []Point, c candidate, f Fit) []string {
	var out []string
	if len(points) < AdvisedPoints {
		out = append(out, fmt.Sprintf("fitted to %d loads; %d or more are advised", len(points), AdvisedPoints))
	}
	if !c.free[1] && c.model.Alpha == 0 {
		out = append(out, "contention lies at its bound 0: throughput grew faster than load somewhere, which the law cannot describe")
	}
	if !c.free[2] {
		out = append(out, "coherency lies at its bound 0: no peak follows from these points")
	}
	if f.PeakExtrapolated {
		out = append(out, fmt.Sprintf("the peak at %.0f lies above the largest tested load %.0f: extrapolated, test there before relying on it", f.Peak.Value, f.MaxTested))
	}
	for _, p := range points {
		if p.Concurrency < 1 {
			out = append(out, "loads below 1 make the law look super-linear")
			break
		}
	}
	return out
}
