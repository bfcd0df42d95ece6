package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// exactVariance is the variance of a binomial up to which the incomplete beta function is evaluated; above it, the normal law with
// skewness correction is closer to the truth than the continued fraction, and its error is far below one rank.
const exactVariance = 20000

// binomialCDF is P(B <= k) for B ~ Bin(n, p).
func binomialCDF(k, n int64, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	case p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	variance := float64(n) * p * (1 - p)
	if variance > exactVariance {
		return edgeworthCDF(k, n, p, variance)
	}
	// Abramowitz & Stegun 26.5.24: P(B <= k) = I_{1-p}(n-k, k+1).
	return mathext.RegIncBeta(float64(n-k), float64(k)+1, 1-p)
}

// edgeworthCDF is the normal approximation with continuity and skewness correction (the first Edgeworth term; Feller, An Introduction to
// Probability Theory and Its Applications II, XVI.4).
func edgeworthCDF(k, n int64, p, variance float64) float64 {
	sd := math.Sqrt(variance)
	z := (float64(k) + 0.5 - float64(n)*p) / sd
	skew := (1 - 2*p) / sd
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return min(1, max(0, distuv.UnitNormal.CDF(z)-skew/6*(z*z-1)*density))
}

// ClopperPearson is the exact two-sided interval of a share: k of n, at the confidence level (0…1). n < 1 gives 0…1.
//
// Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26
// (1934).
func ClopperPearson(k, n int64, level float64) Interval {
	tail := (1 - level) / 2
	return Interval{Low: shareLow(k, n, tail), High: shareHigh(k, n, tail), Level: level}
}

// ClopperPearsonUpper is the exact one-sided upper bound of a share at the confidence level.
func ClopperPearsonUpper(k, n int64, level float64) float64 { return shareHigh(k, n, 1-level) }

// ClopperPearsonLower is the exact one-sided lower bound of a share at the confidence level.
func ClopperPearsonLower(k, n int64, level float64) float64 { return shareLow(k, n, 1-level) }

// shareHigh is the p at which k or fewer of n have probability tail.
func shareHigh(k, n int64, tail float64) float64 {
	if n < 1 || k >= n {
		return 1
	}
	return bisect(func(p float64) bool { return binomialCDF(k, n, p) > tail })
}

// shareLow is the p at which k or more of n have probability tail.
func shareLow(k, n int64, tail float64) float64 {
	if n < 1 || k <= 0 {
		return 0
	}
	return bisect(func(p float64) bool { return 1-binomialCDF(k-1, n, p) <= tail })
}

// bisect finds where below turns false on 0…1. Sixty halvings exhaust a float64's digits.
func bisect(below func(p float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// MaxBad is the most bad ones among n that still prove, with a one-sided Clopper–Pearson bound, that their share is at most limit. ok is
// false where even none would not prove it: too few samples.
func MaxBad(n int64, limit, level float64) (most int64, ok bool) {
	proves := func(k int64) bool { return binomialCDF(k, n, limit) <= 1-level }
	if n < 1 || !proves(0) {
		return 0, false
	}
	lo, hi := int64(0), n // proves(lo); all bad proves nothing
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if proves(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, true
}

// MinBad is the fewest bad ones among n that prove that their share is above limit: the mirror of MaxBad. ok is false where even n would
// not.
func MinBad(n int64, limit, level float64) (fewest int64, ok bool) {
	proves := func(k int64) bool { return 1-binomialCDF(k-1, n, limit) <= 1-level }
	if n < 1 || !proves(n) {
		return 0, false
	}
	lo, hi := int64(0), n // !proves(lo), proves(hi)
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if proves(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// ConfidenceBelow is the one-sided confidence, 0…1, with which k bad ones of n prove a share below limit: 1 − P(B <= k) at the limit.
func ConfidenceBelow(k, n int64, limit float64) float64 { return 1 - binomialCDF(k, n, limit) }

// ConfidenceAbove is the one-sided confidence, 0…1, with which k bad ones of n prove a share above limit: 1 − P(B >= k) at the limit.
func ConfidenceAbove(k, n int64, limit float64) float64 { return binomialCDF(k-1, n, limit) }

// Wilson is the score interval of a share, k of n: shorter than the exact one and right on average. n < 1 gives 0…1.
//
// Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
func Wilson(k, n int64, level float64) Interval {
	if n < 1 {
		return Interval{Low: 0, High: 1, Level: level}
	}
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	nf := float64(n)
	p := float64(k) / nf
	center := p + z*z/(2*nf)
	half := z * math.Sqrt(p*(1-p)/nf+z*z/(4*nf*nf))
	scale := 1 + z*z/nf
	return Interval{Low: max(0, (center-half)/scale), High: min(1, (center+half)/scale), Level: level}
}
