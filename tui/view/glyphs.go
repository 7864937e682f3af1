package view

// Glyphs are the signs and lines that are drawn with.
type Glyphs struct {
	ASCII bool

	Live, Retry, Offline, Paused, Stale string // states of the connection
	OK, Bad, Warn, Up, Down             string
	Cursor, Ellipsis, Arrow, Next       string
	Full, Empty                         string // of bars
	Spark                               []string
	Across, Upright, Cross              rune // of a grid
	Rose, Fell                          rune // of the bodies of candles

	Horizontal, Vertical                       string
	TopLeft, TopRight, BottomLeft, BottomRight string
	Open, Closed, Leaf                         string // branches of a tree
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Live: "●", Retry: "◐", Offline: "○", Paused: "‖", Stale: "▲", OK: "✓", Bad: "✗", Warn: "!", Up: "▲", Down: "▼",
		Cursor: "▌", Ellipsis: "…", Arrow: "→", Next: "▸", Full: "▓", Empty: "░",
		Spark:  []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		Across: '┄', Upright: '┊', Cross: '┼', Rose: '█', Fell: '▒',
		Horizontal: "─", Vertical: "│", TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯",
		Open: "▾", Closed: "▸", Leaf: " ",
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		ASCII: true,
		Live:  "*", Retry: "~", Offline: "o", Paused: "=", Stale: "^", OK: "+", Bad: "x", Warn: "!", Up: "^", Down: "v",
		Cursor: ">", Ellipsis: "~", Arrow: "->", Next: ">", Full: "#", Empty: ".", Spark: []string{"_", "_", ".", ".", "-", "-", "'", "'"},
		Across: '.', Upright: ':', Cross: ':', Rose: '#', Fell: '%',
		Horizontal: "-", Vertical: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
		Open: "-", Closed: "+", Leaf: " ",
	}
}
