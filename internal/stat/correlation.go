package stat

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Mean is the arithmetic mean, NaN for an empty sample.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return missing()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Autocorrelation is the sample autocorrelation of a series at a lag (biased estimator, which keeps the sequence positive definite); 0
// where the series is constant or shorter than the lag.
func Autocorrelation(x []float64, lag int) float64 {
	if lag < 0 || lag >= len(x) {
		return 0
	}
	m := Mean(x)
	var c0, c float64
	for i, v := range x {
		c0 += (v - m) * (v - m)
		if i+lag < len(x) {
			c += (v - m) * (x[i+lag] - m)
		}
	}
	if c0 == 0 {
		return 0
	}
	return c / c0
}

// CorrelationTime is the integrated autocorrelation time 1 + 2·Σρ_k of a series, at least 1: so many samples tell as much as one
// independent one. The sum ends where the sum of two neighbours turns negative, which is when noise takes over.
//
// Source: C. J. Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7 (1992), initial positive sequence.
func CorrelationTime(x []float64) float64 {
	rho := autocorrelations(x)
	tau := -1.0
	for k := 0; k+1 < len(rho); k += 2 {
		pair := rho[k] + rho[k+1]
		if pair <= 0 {
			break
		}
		tau += 2 * pair
	}
	return max(1, tau)
}

// autocorrelations are those of lags 0 to half the length, by way of the power spectrum (Wiener–Khinchin): n·log n steps instead of n². The
// series is padded with zeros so that its end does not meet its beginning. A constant series gives nothing.
func autocorrelations(x []float64) []float64 {
	n := len(x)
	if n < 2 {
		return nil
	}
	size := 1 << bits.Len(uint(2*n-1))
	padded := make([]float64, size)
	m, energy := Mean(x), 0.0
	for i, v := range x {
		padded[i] = v - m
		energy += (v - m) * (v - m)
	}
	if energy == 0 {
		return nil
	}
	fft := fourier.NewFFT(size)
	spectrum := fft.Coefficients(nil, padded)
	for i, c := range spectrum {
		spectrum[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
	}
	out := fft.Sequence(padded, spectrum)[:n/2+1]
	zero := out[0]
	for i := range out {
		out[i] /= zero
	}
	return out
}

// Batch is a stretch of a run: N requests, of which Bad were slow or failed.
type Batch struct{ N, Bad int64 }

// EffectiveN is how many independent requests the batches of one run tell as much as. A run's slow requests come in clumps (a collection
// pause, a full queue), so their count varies more from batch to batch than a binomial would. The design effect is the product of that
// overdispersion and of the correlation time between batches, at least 1.
//
// Fewer than 10 batches or no bad request give n: there is nothing to judge the clumping by.
//
// Sources: L. Kish, Survey Sampling (1965), section 8.2 (design effect of clusters); batch means after B. Schmeiser, Operations Research
// 30 (1982).
func EffectiveN(batches []Batch) float64 {
	var n, bad int64
	used := make([]Batch, 0, len(batches))
	for _, b := range batches {
		if b.N > 0 {
			used = append(used, b)
			n, bad = n+b.N, bad+b.Bad
		}
	}
	if len(used) < 10 || bad == 0 || bad == n {
		return float64(n)
	}
	p := float64(bad) / float64(n)
	chi2 := 0.0
	z := make([]float64, len(used))
	for i, b := range used {
		expected := float64(b.N) * p
		z[i] = (float64(b.Bad) - expected) / math.Sqrt(expected*(1-p))
		chi2 += z[i] * z[i]
	}
	dispersion := chi2 / float64(len(used)-1)
	return float64(n) / max(1, dispersion*CorrelationTime(z))
}
