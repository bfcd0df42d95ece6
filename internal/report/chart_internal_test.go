package report

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTicksAreRoundAndFew(t *testing.T) {
	for most, want := range map[float64][]float64{100: {0, 20, 40, 60, 80, 100}, 9360: {0, 2000, 4000, 6000, 8000}, 0.5: {0, 0.1, 0.2, 0.3, 0.4, 0.5},
		25: {0, 5, 10, 15, 20, 25}, 0: {0}, 1: {0, 0.2, 0.4, 0.6, 0.8, 1}} {
		got := ticks(most)
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v: %v, want %v", most, got, want)
		}
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), -1} {
		if got := ticks(odd); len(got) != 1 {
			t.Errorf("%v: %v", odd, got)
		}
	}
}

func TestATimeAxisHasRoundTicks(t *testing.T) {
	for _, c := range []struct{ from, to, first, step float64 }{{0.001283, 18, 0, 5}, {7.3, 18, 8, 2}, {0, 2.5, 0, 0.5}} {
		chart := chart{XUnit: "seconds", Series: []series{{Points: []point{{X: c.from, Y: 1}, {X: c.to, Y: 2}}}}}
		svg := string(chart.svg())
		var got []float64
		for _, m := range regexp.MustCompile(`class="tick x"[^>]*>([^<]*)<`).FindAllStringSubmatch(svg, -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		if len(got) < 3 || len(got) > 7 {
			t.Fatalf("%v to %v: ticks %v", c.from, c.to, got)
		}
		for i, v := range got {
			if want := c.first + float64(i)*c.step; math.Abs(v-want) > 1e-9 {
				t.Errorf("%v to %v: tick %d at %v, want %v of %v", c.from, c.to, i, v, want, got)
			}
		}
	}
}

func TestValuesAreDrawnWhereTheScalePutsThem(t *testing.T) {
	// Four steps on a logarithmic axis stand at equal distances; half of the top value stands at half the height.
	f := frame{x0: 50, x1: 400, y1: 100, log: true, height: chartHeight}
	width := float64(chartWidth - marginLeft - marginRight)
	for i, x := range []float64{50, 100, 200, 400} {
		if want := marginLeft + width*float64(i)/3; math.Abs(f.x(x)-want) > 1e-9 {
			t.Errorf("x(%v) = %v, want %v", x, f.x(x), want)
		}
	}
	top, bottom := float64(marginTop), float64(chartHeight-marginBottom)
	for y, want := range map[float64]float64{0: bottom, 50: (top + bottom) / 2, 100: top} {
		if got := f.y(y); math.Abs(got-want) > 1e-9 {
			t.Errorf("y(%v) = %v, want %v", y, got, want)
		}
	}
}

func TestAGapBreaksTheLineAndNoNumberIsLeftUndrawable(t *testing.T) {
	c := chart{Title: "x", Series: []series{{Name: "a", Points: []point{{X: 1, Y: 1}, {X: 2, Y: math.NaN()}, {X: 3, Y: 3}, {X: 4, Y: 2}}}}}
	svg := string(c.svg())
	start := strings.Index(svg, ` d="`)
	path := svg[start+4 : start+4+strings.Index(svg[start+4:], `"`)]
	if strings.Count(path, "M") != 2 || strings.Count(path, "L") != 1 {
		t.Errorf("path %q, want two pieces", path)
	}
	for _, one := range []chart{c, {Series: []series{{Points: []point{{X: 5, Y: 0}}}}}, {Log: true, Series: []series{{Points: []point{{X: 5, Y: 7}}}}}, {}} {
		if svg := string(one.svg()); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("an undrawable number in %s", svg)
		}
	}
}

func TestLongSeriesAreThinnedAndKeepTheirPeaks(t *testing.T) {
	points := make([]point, 100000)
	for i := range points {
		points[i] = point{X: float64(i), Y: 1}
	}
	points[54321].Y = 99
	got := thin(points)
	if len(got) > maxPoints {
		t.Errorf("%d points, at most %d", len(got), maxPoints)
	}
	if !slices.Contains(got, points[54321]) {
		t.Error("the peak is lost")
	}
}

func TestTextIsFoldedAtSpaces(t *testing.T) {
	got := fold("one two three incomprehensibilities four", 9)
	want := []string{"one two", "three", "incomprehensibilities", "four"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFiguresHaveAboutThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234.5: "1234", 99.94: "99.9", 99.96: "100", 20.26: "20.3", 9.994: "9.99", 9.996: "10.0", 0.5: "0.50"} {
		if got := numeral(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if number(nil) != unknown || percent(nil) != unknown || pair(nil, nil) != unknown || interval(nil, nil) != unknown {
		t.Error("an unknown figure is shown as something")
	}
}
