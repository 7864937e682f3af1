package view

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// KeyLine names keys and what they do in a line of width columns: as many as fit.
func KeyLine(t Theme, keys []key.Binding, width int) string {
	line, used := "", 0
	for i, k := range keys {
		h, gap := k.Help(), 0
		if used > 0 {
			gap = 2
		}
		room := width - used - gap
		if i < len(keys)-1 {
			room -= 1 + Width(t.Glyphs.Ellipsis)
		}
		if Width(h.Key)+1+Width(h.Desc) > room {
			return line + Spaces(gap/2) + t.Dim.On(t.Glyphs.Ellipsis)
		}
		line += Spaces(gap) + t.Key.On(h.Key) + " " + t.Dim.On(h.Desc)
		used += gap + Width(h.Key) + 1 + Width(h.Desc)
	}
	return line
}

// KeyBlock is a group of keys below its title, the keys in one column and what they do in another.
func KeyBlock(t Theme, title string, keys []key.Binding) []string {
	widest := 0
	for _, k := range keys {
		widest = max(widest, Width(k.Help().Key))
	}
	lines := []string{t.Bold.On(title)}
	for _, k := range keys {
		lines = append(lines, t.Key.On(Fit(k.Help().Key, widest, ""))+" "+k.Help().Desc)
	}
	return append(lines, "")
}

// Flow puts blocks of lines under one another and beside one another: in as many columns as fit in width, each at least so wide, and in
// more where the height does not do. Columns for which there is no room are on pages of their own.
func Flow(blocks [][]string, width, least, height int) (pages [][]string) {
	most := max(min(width/least, len(blocks)), 1)
	tallest := 0
	for _, b := range blocks {
		tallest = max(tallest, len(b)-1)
	}
	stacks := stack(blocks, max(height, 1))
	for h := tallest; h < height; h++ {
		if s := stack(blocks, h); len(s) <= most {
			stacks = s
			break
		}
	}
	for len(stacks) > 0 {
		n := fitting(stacks, width)
		pages = append(pages, beside(stacks[:n], width, height))
		stacks = stacks[n:]
	}
	return pages
}

// fitting is how many of stacks fit beside one another in width with a space before each, at least one.
func fitting(stacks [][]string, width int) int {
	for i, s := range stacks {
		widest := 0
		for _, line := range s {
			widest = max(widest, Width(line))
		}
		if width -= 1 + widest; width < 0 {
			return max(i, 1)
		}
	}
	return len(stacks)
}

// beside puts stacks of lines beside one another.
func beside(stacks [][]string, width, height int) []string {
	widths := naturalWidths(stacks, width)
	lines := make([]string, max(height, 0))
	for y := range lines {
		var b strings.Builder
		for i, s := range stacks {
			part := ""
			if y < len(s) {
				part = s[y]
			}
			b.WriteString(" " + Fit(part, widths[i], ""))
		}
		lines[y] = b.String()
	}
	return lines
}

// naturalWidths are how wide columns are that have to fit in width with a space before each: as their widest lines, and the room that is
// left over for each, or taken from the widest.
func naturalWidths(stacks [][]string, width int) []int {
	widths, left := make([]int, len(stacks)), width-len(stacks)
	for i, s := range stacks {
		for _, line := range s {
			widths[i] = max(widths[i], Width(line))
		}
		left -= widths[i]
	}
	for i := range widths {
		if left > 0 {
			widths[i] += min(left/len(widths), 8)
		}
	}
	for ; left < 0; left++ {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	return widths
}

// stack puts blocks under one another, and begins beside where the height is used up.
func stack(blocks [][]string, height int) (stacks [][]string) {
	for _, b := range blocks {
		last := len(stacks) - 1
		if last >= 0 && len(stacks[last])+len(b)-1 <= height {
			stacks[last] = append(stacks[last], b...)
			continue
		}
		stacks = append(stacks, slices.Clone(b))
	}
	return stacks
}
