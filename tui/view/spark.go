package view

import (
	"math"
	"strings"
)

// Sparkline draws values as blocks, the newest at the right, at most width of them. Older values that do not fit are left out. A
// series that stands still is drawn at middle height; of less than two values nothing is drawn.
func Sparkline(values []float64, width int, g Glyphs) string {
	if len(values) < 2 || width < 1 {
		return ""
	}
	values = values[max(0, len(values)-width):]
	low, high := bounds(values)
	top := len(g.Spark) - 1
	var b strings.Builder
	for _, v := range values {
		level := top / 2
		if high > low {
			level = int(math.Round((v - low) / (high - low) * float64(top)))
		}
		b.WriteString(g.Spark[min(max(level, 0), top)])
	}
	return b.String()
}

// Trend draws values, one for each half of width columns, as a thin curve in the colours of its sign, the older the dimmer. A value that
// is no number leaves its place empty. Of less than two values nothing is drawn.
func Trend(values []float64, width int, t Theme) string {
	first, last := ends(values)
	if first == last || width < 2 {
		return ""
	}
	line := ""
	if t.Glyphs.ASCII {
		line = levels(values, width, t.Glyphs)
	} else {
		line = Chart(values, width, 1, t.Glyphs)[0]
	}
	shades := t.Still
	if values[last] > values[first] {
		shades = t.Rise
	} else if values[last] < values[first] {
		shades = t.Fall
	}
	cells := []rune(line)
	var b strings.Builder
	for i, shade := range shades {
		b.WriteString(shade.On(string(cells[len(cells)*i/len(shades) : len(cells)*(i+1)/len(shades)])))
	}
	return b.String()
}

// ends are the places of the first number and the last of values, the same where there are not two.
func ends(values []float64) (first, last int) {
	for first < len(values) && math.IsNaN(values[first]) {
		first++
	}
	for last = len(values) - 1; last > first && math.IsNaN(values[last]); last-- {
	}
	return first, max(first, last)
}

// levels draws values in width columns, one glyph a column.
func levels(values []float64, width int, g Glyphs) string {
	low, high := bounds(values)
	top := len(g.Spark) - 1
	var b strings.Builder
	for x := range width {
		v := between(values, width, x)
		level := top / 2
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
			continue
		case high > low:
			level = int(math.Round((v - low) / (high - low) * float64(top)))
		}
		b.WriteString(g.Spark[min(max(level, 0), top)])
	}
	return b.String()
}

// between is the value of place x of width, over which values are stretched. It is no number where one beside it is none.
func between(values []float64, width, x int) float64 {
	at := float64(x) / float64(width-1) * float64(len(values)-1)
	i := min(int(at), len(values)-2)
	if at == float64(i) {
		return values[i]
	}
	return values[i] + (values[i+1]-values[i])*(at-float64(i))
}

func bounds(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// Bar draws a share of 0 to 1 in width columns.
func Bar(share float64, width int, g Glyphs) string {
	if math.IsNaN(share) {
		share = 0
	}
	full := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat(g.Full, max(full, 0)) + strings.Repeat(g.Empty, max(width-full, 0))
}

// Chart draws values as a Curve in a field of width and height. Of less than two values nothing is drawn.
func Chart(values []float64, width, height int, g Glyphs) []string {
	if len(values) < 2 || width < 2 || height < 1 {
		return nil
	}
	low, high := bounds(values)
	c := NewCanvas(width, height, low, high, g)
	c.Curve(values, Main)
	return c.Lines(Styles{})
}

func dot(x, y int) rune {
	return [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}[y][x]
}
