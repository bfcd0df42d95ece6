package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// chart is a line chart that is drawn as SVG.
type chart struct {
	Title   string
	Unit    string // of the values, such as «per second»
	XUnit   string // of the horizontal axis
	Log     bool   // horizontal axis
	XTicks  []float64
	Series  []series
	Bands   []band
	Markers []marker
	Height  int
}

// series is one line. Its colour and dash follow from Slot, so that one thing looks the same in every chart.
type series struct {
	Name   string
	Slot   int
	Faint  bool    // secondary: dashed
	Width  float64 // of the line; 0: the usual one
	Points []point
}

// point is one value; a NaN value breaks the line.
type point struct {
	X, Y      float64
	Low, High float64 // of an interval; both 0: none
}

// band shades a stretch of the horizontal axis.
type band struct {
	From, To float64
	Name     string
}

// marker is a horizontal line, such as an SLO's bound.
type marker struct {
	Y    float64
	Name string
}

// The drawing's measures, in its own units.
const (
	chartWidth   = 560
	chartHeight  = 280
	marginLeft   = 52
	marginRight  = 12
	marginTop    = 10
	marginBottom = 34
	colors       = 8 // in style.css
	maxPoints    = 600
)

// frame maps values to the drawing.
type frame struct {
	x0, x1, y1 float64 // the vertical axis begins at 0
	log        bool
	height     float64
}

func (f frame) x(v float64) float64 {
	a, b := f.x0, f.x1
	if f.log {
		a, b, v = math.Log(a), math.Log(b), math.Log(v)
	}
	if b <= a {
		return marginLeft + (chartWidth-marginLeft-marginRight)/2
	}
	return marginLeft + (v-a)/(b-a)*(chartWidth-marginLeft-marginRight)
}

func (f frame) y(v float64) float64 {
	return marginTop + (1-v/f.y1)*(f.height-marginTop-marginBottom)
}

func (c *chart) empty() bool {
	for _, s := range c.Series {
		for _, p := range s.Points {
			if !math.IsNaN(p.Y) {
				return false
			}
		}
	}
	return true
}

func (c *chart) frame() frame {
	f := frame{x0: math.Inf(1), x1: math.Inf(-1), log: c.Log, height: float64(c.height())}
	for _, s := range c.Series {
		for _, p := range s.Points {
			f.x0, f.x1 = math.Min(f.x0, p.X), math.Max(f.x1, p.X)
			if !math.IsNaN(p.Y) {
				f.y1 = max(f.y1, p.Y, p.High)
			}
		}
	}
	for _, b := range c.Bands {
		f.x0, f.x1 = math.Min(f.x0, b.From), math.Max(f.x1, b.To)
	}
	for _, m := range c.Markers {
		if m.Y <= 3*f.y1 {
			f.y1 = max(f.y1, m.Y)
		}
	}
	if f.x0 > f.x1 {
		f.x0, f.x1 = 0, 0 // nothing to draw
	}
	if !f.log && f.x0 > 0 && f.x0 < (f.x1-f.x0)/50 {
		f.x0 = 0 // The first value of a cell comes some microseconds after its beginning.
	}
	if f.y1 <= 0 {
		f.y1 = 1
	}
	f.y1 *= 1.04
	return f
}

func (c *chart) height() int {
	if c.Height > 0 {
		return c.Height
	}
	return chartHeight
}

// svg draws the chart. All text is escaped here; what is returned is markup.
func (c *chart) svg() template.HTML {
	f := c.frame()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" tabindex="0" class="chart" aria-label="%s">`, chartWidth, c.height(), escape(c.summary()))
	c.drawBands(&b, f)
	c.drawAxes(&b, f)
	for _, m := range c.Markers {
		if m.Y > f.y1 {
			continue
		}
		fmt.Fprintf(&b, `<line class="marker" x1="%d" x2="%d" y1="%s" y2="%s"/><text class="mark" x="%d" y="%s">%s</text>`, marginLeft, chartWidth-marginRight,
			px(f.y(m.Y)), px(f.y(m.Y)), chartWidth-marginRight-2, px(f.y(m.Y)-3), escape(m.Name))
	}
	for _, s := range c.Series {
		drawSeries(&b, f, s)
	}
	b.WriteString(`<line class="cursor" y1="` + strconv.Itoa(marginTop) + `" y2="` + px(f.height-marginBottom) + `"/></svg>`)
	// Every text written above was escaped.
	return template.HTML(b.String())
}

// summary is what a reader who does not see the picture is told.
func (c *chart) summary() string {
	parts := []string{c.Title + ", " + c.Unit + "."}
	for _, s := range c.Series {
		low, high, n := math.Inf(1), math.Inf(-1), 0
		for _, p := range s.Points {
			if !math.IsNaN(p.Y) {
				low, high, n = math.Min(low, p.Y), math.Max(high, p.Y), n+1
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s to %s.", s.Name, numeral(low), numeral(high)))
		}
	}
	return strings.Join(parts, " ")
}

func (c *chart) drawBands(b *strings.Builder, f frame) {
	for _, band := range c.Bands {
		fmt.Fprintf(b, `<rect class="band" x="%s" y="%d" width="%s" height="%s"><title>%s</title></rect>`, px(f.x(band.From)), marginTop,
			px(f.x(band.To)-f.x(band.From)), px(f.height-marginTop-marginBottom), escape(band.Name))
		if f.x(band.To)-f.x(band.From) > 40 {
			fmt.Fprintf(b, `<text class="bandname" x="%s" y="%d">%s</text>`, px((f.x(band.From)+f.x(band.To))/2), marginTop+11, escape(band.Name))
		}
	}
}

func (c *chart) drawAxes(b *strings.Builder, f frame) {
	for _, v := range ticks(f.y1) {
		y := px(f.y(v))
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%s" y2="%s"/><text class="tick" x="%d" y="%s">%s</text>`, marginLeft, chartWidth-marginRight,
			y, y, marginLeft-6, px(f.y(v)+3.5), axisNumber(v))
	}
	xs := c.XTicks
	if xs == nil {
		xs = ticksWithin(f.x0, f.x1)
	}
	last := -1e9
	for _, v := range xs {
		x := f.x(v)
		if x-last < 26 {
			continue
		}
		last = x
		fmt.Fprintf(b, `<text class="tick x" x="%s" y="%s">%s</text>`, px(x), px(f.height-marginBottom+14), axisNumber(v))
	}
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%s" y2="%s"/>`, marginLeft, chartWidth-marginRight, px(f.y(0)), px(f.y(0)))
	fmt.Fprintf(b, `<text class="unit" x="%d" y="%s">%s</text>`, (chartWidth+marginLeft)/2, px(f.height-4), escape(c.XUnit))
}

func drawSeries(b *strings.Builder, f frame, s series) {
	class := s.class()
	fmt.Fprintf(b, `<g data-series="%s">`, escape(s.Name))
	defer b.WriteString("</g>")
	points := thin(s.Points)
	var path, data strings.Builder
	pen := "M"
	dots := len(points) <= 24
	for _, p := range points {
		if math.IsNaN(p.Y) {
			pen = "M"
			continue
		}
		x, y := px(f.x(p.X)), px(f.y(p.Y))
		path.WriteString(pen + x + " " + y)
		pen = "L"
		data.WriteString(x + " " + y + " " + escape(compact(p.X)) + " " + escape(compact(p.Y)) + ";")
		if p.High > 0 {
			fmt.Fprintf(b, `<line class="error %s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, x, x, px(f.y(p.Low)), px(f.y(p.High)))
		}
	}
	width := ""
	if s.Width > 0 {
		width = ` style="stroke-width:` + px(s.Width) + `"`
	}
	fmt.Fprintf(b, `<path class="line %s"%s d="%s" data-name="%s" data-points="%s"/>`, class, width, path.String(), escape(s.Name),
		strings.TrimSuffix(data.String(), ";"))
	if !dots {
		return
	}
	for _, p := range points {
		if !math.IsNaN(p.Y) {
			fmt.Fprintf(b, `<circle class="dot %s" cx="%s" cy="%s" r="3"/>`, class, px(f.x(p.X)), px(f.y(p.Y)))
		}
	}
}

// class names the line's look in style.css.
func (s series) class() string {
	class := "s" + strconv.Itoa(s.Slot%colors)
	if s.Faint {
		class += " faint"
	}
	if s.Slot/colors%2 == 1 {
		class += " second"
	}
	return class
}

// thin keeps a page small: of long series it draws evenly chosen points, the largest of each group, so that no peak is lost.
func thin(points []point) []point {
	if len(points) <= maxPoints {
		return points
	}
	group := (len(points) + maxPoints - 1) / maxPoints
	var out []point
	for i := 0; i < len(points); i += group {
		best := points[i]
		for _, p := range points[i:min(i+group, len(points))] {
			if math.IsNaN(best.Y) || p.Y > best.Y {
				best = p
			}
		}
		out = append(out, best)
	}
	return out
}

// ticks are three to six round values from 0 to most.
func ticks(most float64) []float64 {
	if most <= 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		return []float64{0}
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	step := 2 * power
	for _, times := range []float64{0.2, 0.5, 1} {
		if most/(times*power) <= 6 {
			step = times * power
			break
		}
	}
	var out []float64
	for i := 0; float64(i)*step <= most*1.0001; i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

// ticksWithin are round values from one end to the other; the lower end where there is no round one.
func ticksWithin(from, to float64) []float64 {
	steps := ticks(to - from)
	if len(steps) < 2 {
		return []float64{from}
	}
	var out []float64
	for i := math.Ceil(from/steps[1] - 1e-9); i*steps[1] <= to*1.0001; i++ {
		out = append(out, i*steps[1])
	}
	return out
}

func axisNumber(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + "M"
	case a >= 10000:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	default:
		return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
	}
}

// compact is a value with four digits, for reading off.
func compact(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// px is a place in the drawing to a tenth of a unit.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func escape(s string) string { return template.HTMLEscapeString(s) }
