package view

import (
	"math"
	"strings"
)

// Drawing is how a chart is drawn.
type Drawing string

// The drawings. A candle has the first, the highest, the lowest and the last number of its time.
const (
	Curve   Drawing = "curve"
	Blocks  Drawing = "blocks"
	Candles Drawing = "candles"
)

// Drawings are all of them, in the order in which a key goes through them.
func Drawings() []Drawing { return []Drawing{Curve, Blocks, Candles} }

// Layer says what a cell of a Canvas belongs to.
type Layer int8

// The layers, of which Lines is given the styles.
const (
	Main Layer = iota
	Second
	Rise
	Fall
	Ruled
	layers
)

// Styles are those of the layers of a Canvas.
type Styles [layers]Style

// Canvas is a field of cells in which numbers from Low to High are drawn, the lowest at the bottom. Make it with NewCanvas.
type Canvas struct {
	Low, High float64
	width     int
	glyphs    Glyphs
	cells     [][]drawnCell
}

type drawnCell struct {
	sign  rune // 0 where nothing is drawn
	layer Layer
}

// NewCanvas makes an empty field. It has a height and a width of at least one cell.
func NewCanvas(width, height int, low, high float64, g Glyphs) *Canvas {
	c := &Canvas{Low: low, High: high, width: max(width, 1), glyphs: g, cells: make([][]drawnCell, max(height, 1))}
	all := make([]drawnCell, len(c.cells)*c.width)
	for y := range c.cells {
		c.cells[y] = all[y*c.width : (y+1)*c.width]
	}
	return c
}

// Row is the line of a number, counted from the top. Where all numbers are one, that is in the middle.
func (c *Canvas) Row(v float64) int { return c.level(v, len(c.cells)) }

// level is the line of a number in a field of so many lines.
func (c *Canvas) level(v float64, lines int) int {
	y := lines / 2
	if c.High > c.Low {
		y = int(math.Round((c.High - v) / (c.High - c.Low) * float64(lines-1)))
	}
	return min(max(y, 0), lines-1)
}

const braille = 0x2800

// Curve draws numbers over the whole width, the newest at the right: a cell is two by four dots of braille, or one of ASCII. A value that
// is no number leaves its place empty. The second layer is dotted, so that it differs without colour too.
func (c *Canvas) Curve(values []float64, of Layer) {
	if len(values) < 2 {
		return
	}
	across, down, sign := 2, 4, '*'
	if c.glyphs.ASCII {
		across, down = 1, 1
	}
	if of == Second {
		sign = 'o'
	}
	last := -1
	for x := range c.width * across {
		v := between(values, c.width*across, x)
		if math.IsNaN(v) {
			last = -1
			continue
		}
		y := c.level(v, len(c.cells)*down)
		if last < 0 {
			last = y
		}
		for fill := min(y, last); fill <= max(y, last); fill++ { // steep parts are filled, so that the curve stays in one piece
			switch {
			case fill == last && fill != y:
			case of == Second && !c.glyphs.ASCII && x/across%3 == 2:
			case c.glyphs.ASCII:
				c.cells[fill][x] = drawnCell{sign, of}
			default:
				c.dot(x, fill, of)
			}
		}
		last = y
	}
}

func (c *Canvas) dot(x, y int, of Layer) {
	cell := &c.cells[y/4][x/2]
	if cell.sign < braille || cell.layer == Ruled {
		cell.sign = braille
	}
	*cell = drawnCell{cell.sign | dot(x%2, y%4), of}
}

// Fill draws numbers as columns that stand on the lower edge.
func (c *Canvas) Fill(values []float64, of Layer) {
	if len(values) < 2 {
		return
	}
	full, parts := []rune(c.glyphs.Spark[len(c.glyphs.Spark)-1])[0], 8
	if c.glyphs.ASCII {
		full, parts = '#', 1
	}
	for x := range c.width {
		v := between(values, c.width, x)
		if math.IsNaN(v) {
			continue
		}
		filled := len(c.cells)*parts - c.level(v, len(c.cells)*parts)
		for y := len(c.cells) - 1; filled > 0; y-- {
			sign := full
			if filled < parts {
				sign = []rune(c.glyphs.Spark[filled-1])[0]
			}
			c.cells[y][x] = drawnCell{sign, of}
			filled -= parts
		}
	}
}

// Candle is what numbers did in a part of a time: its first, its last, the highest and the lowest.
type Candle struct{ Open, Close, High, Low float64 }

// Candle draws one at a column: a line for what it touched around a body from its first number to its last, which is full where it rose.
func (c *Canvas) Candle(at int, one Candle) {
	if at < 0 || at >= c.width {
		return
	}
	of, body := Rise, c.glyphs.Rose
	if one.Close < one.Open {
		of, body = Fall, c.glyphs.Fell
	}
	wick := []rune(c.glyphs.Vertical)[0]
	for y := c.Row(one.High); y <= c.Row(one.Low); y++ {
		c.cells[y][at] = drawnCell{wick, of}
	}
	for y := c.Row(max(one.Open, one.Close)); y <= c.Row(min(one.Open, one.Close)); y++ {
		c.cells[y][at] = drawnCell{body, of}
	}
}

// Rule draws lines of a grid, by rows and by columns, where nothing else is.
func (c *Canvas) Rule(rows, columns []int) {
	put := func(x, y int, sign rune) {
		if y < 0 || y >= len(c.cells) || x < 0 || x >= c.width {
			return
		}
		switch cell := &c.cells[y][x]; {
		case cell.sign == 0:
			*cell = drawnCell{sign, Ruled}
		case cell.layer == Ruled:
			cell.sign = c.glyphs.Cross
		}
	}
	for _, y := range rows {
		for x := range c.width {
			put(x, y, c.glyphs.Across)
		}
	}
	for _, x := range columns {
		for y := range c.cells {
			put(x, y, c.glyphs.Upright)
		}
	}
}

// Lines are the lines of the field in the styles of their layers.
func (c *Canvas) Lines(styles Styles) []string {
	lines := make([]string, len(c.cells))
	var b, run strings.Builder
	for y, row := range c.cells {
		b.Reset()
		of := Main
		flush := func() {
			b.WriteString(styles[of].On(run.String()))
			run.Reset()
		}
		for _, cell := range row {
			if cell.sign == 0 {
				run.WriteByte(' ')
				continue
			}
			if cell.layer != of {
				flush()
				of = cell.layer
			}
			run.WriteRune(cell.sign)
		}
		flush()
		lines[y] = b.String()
	}
	return lines
}
