package tui

import (
	"slices"
)

// pane is something that is shown in a box. Members of the crypto pack are panes by their names.
type pane string

// The panes that are no members of the crypto pack.
const (
	paneTree     pane = "tree"
	paneBrief    pane = "brief"
	paneDetail   pane = "detail"
	paneHealth   pane = "health"
	paneActivity pane = "activity"
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

func members() []pane {
	var list []pane
	for _, m := range CryptoMembers() {
		list = append(list, pane(m))
	}
	return list
}

// side are the members that share a place where there is little.
func side() []pane {
	return []pane{pane(Sentiment), pane(Narratives), pane(Flags)}
}

// layout says what is where in width and height. tree is set for a state that is not of the crypto pack.
func layout(width, height int, tree bool) []band {
	switch {
	case width < twoColumns || height < bandsHeight:
		all := append(members(), paneBrief, paneHealth)
		if tree {
			all = []pane{paneTree, paneBrief, paneHealth}
		}
		return []band{{height, []cell{{all, width}}}}
	case tree:
		return treeLayout(width, height)
	case width >= allWidth && height >= allHeight:
		return fullLayout(width, height)
	}
	return compactLayout(width, height)
}

// compactLayout is that of a usual terminal; where it is wider there is the detail too.
func compactLayout(width, height int) []band {
	brief := min(max(height/4, 6), 12)
	second := max((height-brief)*3/7, 5)
	left := width * 5 / 8
	first := []cell{{[]pane{pane(Movers)}, left}, {[]pane{paneHealth}, width - left}}
	lower := []cell{{[]pane{pane(Protocols), pane(Pools)}, left}, {side(), width - left}}
	if width >= detailWidth {
		first = []cell{{[]pane{pane(Movers)}, left}, {[]pane{paneDetail}, width - left}}
		third := width / 3
		lower = []cell{{[]pane{pane(Protocols), pane(Pools)}, width - 2*third}, {side(), third}, {[]pane{paneHealth}, third}}
	}
	return []band{{height - brief - second, first}, {second, lower}, {brief, []cell{{[]pane{paneBrief}, width}}}}
}

func fullLayout(width, height int) []band {
	first := height * 32 / 100
	second := height * 25 / 100
	third := height * 25 / 100
	left, part := width*58/100, width/3
	wide := width - part
	return []band{
		{first, []cell{{[]pane{pane(Movers)}, left}, {[]pane{paneDetail}, width - left}}},
		{second, []cell{{[]pane{pane(Protocols)}, width - 2*part}, {[]pane{pane(Pools)}, part}, {[]pane{paneHealth}, part}}},
		{third, []cell{{[]pane{paneBrief}, wide}, {side(), part}}},
		{height - first - second - third, []cell{{[]pane{paneActivity}, width}}},
	}
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
