package tui

import (
	"slices"

	"github.com/contextd/contextd/tui/view"
)

// pane is something that is shown in a box. Members of the state are panes by their names.
type pane string

// The panes that are no members of the state, whose names no member has.
const (
	paneTree    pane = "(tree)"
	paneBrief   pane = "(brief)"
	paneDetail  pane = "(detail)"
	paneHealth  pane = "(health)"
	paneNews    pane = "(news)"
	paneSources pane = "(sources)"
	paneWatch   pane = "(watch)"
)

// Sizes of the screen from which on more is shown. The terminal has the lines of header and footer besides.
const (
	twoColumns  = 80
	detailWidth = 100
	allWidth    = 120
	allHeight   = 30
	wideWidth   = 180
	bandsHeight = 14
)

// cell is a place of the screen. Of its panes the one that was in focus last is shown.
type cell struct {
	panes               []pane
	x, y, width, height int
}

// want is how high something has to be and how high it would be.
type want struct{ least, wish int }

// parts are what there is to lay out: the main member, other tables in their order, what tells of the whole, and the flags. The zero parts
// are those of a state that is shown as a tree.
type parts struct {
	main   pane
	tables []pane
	side   pane // "" where there is none
	flags  pane
	rows   func(p pane) int // lines that a pane would fill
}

// all are the members in their order.
func (p parts) all() []pane {
	return some(slices.Concat([]pane{p.main}, p.tables, []pane{p.side, p.flags})...)
}

func some(panes ...pane) []pane {
	return slices.DeleteFunc(panes, func(p pane) bool { return p == "" })
}

// wish is how high a box with the longest of panes would be.
func (p parts) wish(panes ...pane) int {
	most := 1
	for _, one := range panes {
		most = max(most, p.rows(one))
	}
	return most + 2
}

// layout says what is where in width and height.
func layout(width, height int, p parts) []cell {
	switch tree := p.main == ""; {
	case width < twoColumns || height < bandsHeight:
		all := []pane{paneTree}
		if !tree {
			all = p.all()
		}
		return []cell{{append(all, paneNews, paneBrief, paneHealth), 0, 0, width, height}}
	case tree:
		return treeLayout(width, height)
	case width >= allWidth && height >= allHeight:
		return fullLayout(width, height, p)
	case width >= detailWidth && height >= allHeight-6:
		return middleLayout(width, height, p)
	}
	return compactLayout(width, height, p)
}

// compactLayout is that of a usual terminal: the tables in one place, or in two where the main one is short, what tells of the whole, the
// news where there is room, and the health beside them, and some of the brief.
func compactLayout(width, height int, p parts) []cell {
	const leastTable, leastNews, least, most = 5, 5, 5, 8 // the latter of the health
	below := min(max(height/5, 4), 8)
	left, top := width*5/8, height-below
	cells := []cell{{append([]pane{p.main}, p.tables...), 0, 0, left, top}}
	if main := p.wish(p.main); len(p.tables) > 0 && main+leastTable <= top {
		cells = []cell{{[]pane{p.main}, 0, 0, left, main}, {p.tables, 0, main, left, top - main}}
	}
	beside := some(p.side, p.flags, paneNews)
	places, wants := [][]pane{beside, {paneHealth}}, []want{{5, p.wish(beside[0])}, {6, 6}}
	if first := p.wish(beside[0]); len(beside) > 1 && first+leastNews+least <= top {
		places = [][]pane{beside[:len(beside)-1], {paneNews}, {paneHealth}}
		wants = []want{{5, first}, {leastNews, max(p.wish(paneNews), top-first-most)}, {least, most}}
	}
	y := 0
	for i, h := range divide(top, wants) {
		cells = append(cells, cell{places[i], left, y, width - left, h})
		y += h
	}
	return append(cells, cell{[]pane{paneBrief}, 0, top, width, below})
}

// middleLayout has the curve of the row at the cursor too.
func middleLayout(width, height int, p parts) []cell {
	below := min(max(height/5, 5), 8)
	left, top := width*6/10, height-below
	heights := divide(top, []want{{8, p.wish(p.main)}, {6, p.wish(p.tables...)}})
	cells := []cell{{[]pane{p.main}, 0, 0, left, top}}
	if len(p.tables) > 0 {
		cells = []cell{{[]pane{p.main}, 0, 0, left, heights[0]}, {p.tables, 0, heights[0], left, heights[1]}}
	}
	beside := some(p.side, p.flags, paneNews, paneHealth)
	curve := top * 55 / 100
	return append(cells, cell{[]pane{paneDetail}, left, 0, width - left, curve}, cell{beside, left, curve, width - left, top - curve},
		cell{[]pane{paneBrief}, 0, top, width, below})
}

// fullLayout shows everything: what it holds decides how high each part is.
func fullLayout(width, height int, p parts) []cell {
	left := width * 55 / 100
	const leastBelow = 9
	most := height - max(leastBelow, height*28/100)
	lower, beside := p.arranged(width >= wideWidth, 0)
	leftWants := p.wants(lower)
	for rows := len(lower) + 1; width >= wideWidth; rows++ { // what waits behind others gets a place of its own while there is room
		further, _ := p.arranged(true, rows)
		wants := p.wants(further)
		if len(further) < rows || sum(wants) > most {
			break
		}
		lower, leftWants = further, wants
	}
	rightWants := []want{{12, 16}, {6, p.wish(slices.Concat(beside...)...)}}
	top := min(most, max(sum(leftWants), sum(rightWants), height*6/10))
	rights := divide(top, []want{rightWants[1], rightWants[0]}) // the curve takes what is left over
	cells := []cell{{[]pane{p.main}, 0, 0, left, 0}}
	const lowerLeast = 9
	leftWants[0].least = max(min(leftWants[0].wish, top-lowerLeast*len(lower)), leftWants[0].least)
	lefts := divide(top, leftWants)
	cells[0].height = lefts[0]
	y := lefts[0]
	for i, row := range lower {
		cells = append(cells, besides(0, y, left, lefts[i+1], row)...)
		y += lefts[i+1]
	}
	cells = append(cells, cell{[]pane{paneDetail}, left, 0, width - left, rights[1]})
	cells = append(cells, besides(left, rights[1], width-left, rights[0], beside)...)
	if width < wideWidth {
		brief := width * 64 / 100
		return append(cells, cell{[]pane{paneBrief}, 0, top, brief, height - top},
			cell{[]pane{paneNews}, brief, top, width - brief, height - top})
	}
	brief, sources := width*43/100, width/4
	return append(cells, cell{[]pane{paneBrief}, 0, top, brief, height - top},
		cell{[]pane{paneNews}, brief, top, width - brief - sources, height - top},
		cell{[]pane{paneSources}, width - sources, top, sources, height - top})
}

// wants are those of the main member and of the rows of places below it.
func (p parts) wants(lower [][][]pane) []want {
	list := []want{{min(8, p.wish(p.main)), p.wish(p.main)}}
	for _, row := range lower {
		list = append(list, want{6, p.wish(slices.Concat(row...)...)})
	}
	return list
}

// arranged are the places below the main member, in so many rows, 0 for the usual, and those below the curve. What is left over shares the
// last ones.
func (p parts) arranged(wide bool, rows int) (lower [][][]pane, beside [][]pane) {
	tables, last := slices.Clone(p.tables), some(p.flags, paneHealth)
	switch {
	case p.side != "" && wide:
		beside = [][]pane{{p.side}}
	case p.side != "":
		beside = [][]pane{{p.side, paneHealth}}
		last = some(p.flags)
	}
	if wide && len(tables) > 2 { // the last table that holds something stands before the flags
		i := len(tables) - 1
		for i > 2 && p.rows(tables[i]) < 2 {
			i--
		}
		last = slices.Insert(last, 0, tables[i])
		tables = slices.Delete(tables, i, i+1)
	}
	if wide || p.side == "" {
		beside = append(beside, last)
	} else {
		tables = append(tables, last...)
	}
	if rows == 0 {
		rows = 1
		if (wide || p.wish(p.main) < 8) && len(tables) > 2 {
			rows = 2
		}
	}
	places := min(2*rows, len(tables))
	cells := make([][]pane, places)
	for i, table := range tables { // the first ones are seen, the others wait behind them
		cells[i%places] = append(cells[i%places], table)
	}
	for row := range slices.Chunk(cells, 2) {
		lower = append(lower, row)
	}
	return lower, beside
}

func treeLayout(width, height int) []cell {
	brief := min(max(height/4, 6), 12)
	left, top := width*5/8, height-brief
	health := divide(top, []want{{8, 8}, {4, top}})
	return []cell{{[]pane{paneTree}, 0, 0, left, top}, {[]pane{paneHealth}, left, 0, width - left, health[0]},
		{[]pane{paneNews}, left, health[0], width - left, health[1]}, {[]pane{paneBrief}, 0, top, width, brief}}
}

// divide gives parts of total: to each what it needs at least, then what they would have, the first ones first, and what is left over to
// the last.
func divide(total int, wants []want) []int {
	sizes := make([]int, len(wants))
	left := total
	for i, w := range wants {
		sizes[i] = min(w.least, left)
		left -= sizes[i]
	}
	for left > 0 {
		given := 0
		for i, w := range wants { // a line each in turn, so that none is whole while another is cut to nothing
			if sizes[i] < w.wish && left > 0 {
				sizes[i]++
				left--
				given++
			}
		}
		if given == 0 {
			sizes[len(sizes)-1] += left
			break
		}
	}
	return sizes
}

func sum(wants []want) (n int) {
	for _, w := range wants {
		n += w.wish
	}
	return n
}

// besides are cells beside one another, as wide as each other.
func besides(x, y, width, height int, places [][]pane) []cell {
	cells := make([]cell, len(places))
	for i, panes := range places {
		from, to := width*i/len(places), width*(i+1)/len(places)
		cells[i] = cell{panes, x + from, y, to - from, height}
	}
	return cells
}

func compose(cells []cell, drawn [][]string, height int) []string {
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cells[a].x - cells[b].x })
	out := make([]string, height)
	for y := range out {
		var blocks [][]string
		for _, i := range order {
			if c := cells[i]; y >= c.y && y < c.y+c.height {
				blocks = append(blocks, drawn[i][y-c.y:y-c.y+1])
			}
		}
		out[y] = view.Beside(blocks...)[0]
	}
	return out
}

// focusable are the panes of a layout that one can go to, in order.
func focusable(cells []cell) []pane {
	var list []pane
	for _, c := range cells {
		for _, p := range c.panes {
			if p != paneDetail && p != paneSources && (p != paneHealth || len(c.panes) > 1) {
				list = append(list, p)
			}
		}
	}
	return list
}

// shown is the pane of c that is shown when those of seen were in focus, the last one last.
func (c cell) shown(seen []pane) pane {
	for i := len(seen) - 1; i >= 0; i-- {
		if slices.Contains(c.panes, seen[i]) {
			return seen[i]
		}
	}
	return c.panes[0]
}
