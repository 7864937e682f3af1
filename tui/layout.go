package tui

import (
	"slices"
)

// pane is something that is shown in a box. Members of the state are panes by their names.
type pane string

// The panes that are no members of the state, whose names no member has.
const (
	paneTree     pane = "(tree)"
	paneBrief    pane = "(brief)"
	paneDetail   pane = "(detail)"
	paneHealth   pane = "(health)"
	paneActivity pane = "(activity)"
)

// cell is a place of the screen. Of its panes the one that was in focus last is shown.
type cell struct {
	panes []pane
	width int
}

type band struct {
	height int
	cells  []cell
}

// Sizes at which more is shown, of the whole terminal less the lines of header and footer.
const (
	twoColumns  = 80
	detailWidth = 100
	allWidth    = 120
	allHeight   = 30
	bandsHeight = 16
)

// parts are where the members of a state stand: the main one, two kinds beside each other, and those that share a place where there is
// little. The zero parts are those of a state that is shown as a tree.
type parts struct {
	main              pane
	left, right, side []pane
}

// all are the members in their order.
func (p parts) all() []pane { return slices.Concat([]pane{p.main}, p.left, p.right, p.side) }

func cryptoParts() parts {
	return parts{pane(Movers), []pane{pane(Protocols)}, []pane{pane(Pools)}, []pane{pane(Sentiment), pane(Narratives), pane(Flags)}}
}

// tableParts are those of members of which the last are the flags.
func tableParts(members []pane) parts {
	switch n := len(members); n {
	case 0:
		return parts{}
	case 1, 2:
		return parts{main: members[0], left: members[1:]}
	default:
		half := n / 2
		return parts{members[0], members[1:half], members[half : n-1], members[n-1:]}
	}
}

// layout says what is where in width and height.
func layout(width, height int, p parts) []band {
	tree := p.main == ""
	switch {
	case width < twoColumns || height < bandsHeight:
		all := []pane{paneTree}
		if !tree {
			all = p.all()
		}
		return []band{{height, []cell{{append(all, paneBrief, paneHealth), width}}}}
	case tree:
		return treeLayout(width, height)
	case width >= allWidth && height >= allHeight:
		return fullLayout(width, height, p)
	}
	return compactLayout(width, height, p)
}

// compactLayout is that of a usual terminal; where it is wider there is the detail too.
func compactLayout(width, height int, p parts) []band {
	brief := min(max(height/4, 6), 12)
	second := max((height-brief)*3/7, 5)
	left := width * 5 / 8
	both := slices.Concat(p.left, p.right)
	first := []cell{{[]pane{p.main}, left}, {[]pane{paneHealth}, width - left}}
	lower := []cell{{both, left}, {p.side, width - left}}
	if width >= detailWidth {
		first = []cell{{[]pane{p.main}, left}, {[]pane{paneDetail}, width - left}}
		third := width / 3
		lower = []cell{{both, width - 2*third}, {p.side, third}, {[]pane{paneHealth}, third}}
	}
	return filled([]band{{height - brief - second, first}, {second, lower}, {brief, []cell{{[]pane{paneBrief}, width}}}})
}

func fullLayout(width, height int, p parts) []band {
	first := height * 32 / 100
	second := height * 25 / 100
	third := height * 25 / 100
	left, part := width*58/100, width/3
	wide := width - part
	return filled([]band{
		{first, []cell{{[]pane{p.main}, left}, {[]pane{paneDetail}, width - left}}},
		{second, []cell{{p.left, width - 2*part}, {p.right, part}, {[]pane{paneHealth}, part}}},
		{third, []cell{{[]pane{paneBrief}, wide}, {p.side, part}}},
		{height - first - second - third, []cell{{[]pane{paneActivity}, width}}},
	})
}

// filled are bands in which what has no panes gives its room to the first of its band that has, and a band without any to the first band.
func filled(bands []band) (list []band) {
	for _, b := range bands {
		var cells []cell
		room := 0
		for _, c := range b.cells {
			if len(c.panes) == 0 {
				room += c.width
				continue
			}
			cells = append(cells, c)
		}
		if len(cells) == 0 {
			list[0].height += b.height
			continue
		}
		cells[0].width += room
		list = append(list, band{b.height, cells})
	}
	return list
}

func treeLayout(width, height int) []band {
	brief := min(max(height/4, 6), 12)
	left := width * 5 / 8
	return []band{
		{height - brief, []cell{{[]pane{paneTree}, left}, {[]pane{paneHealth}, width - left}}},
		{brief, []cell{{[]pane{paneBrief}, width}}},
	}
}

// focusable are the panes of a layout that one can go to, in order.
func focusable(bands []band) []pane {
	var list []pane
	for _, b := range bands {
		for _, c := range b.cells {
			for _, p := range c.panes {
				if p != paneDetail && p != paneActivity && (p != paneHealth || len(c.panes) > 1) {
					list = append(list, p)
				}
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
