package handbook

import (
	"strings"
	"time"
)

const (
	rendered = "Jan 2006" // how the renderers date pages
	width    = 80         // of a line in a manual page, beyond which formatters complain
)

// Roff is a manual page as renderers of Markdown write it, mended: they indent with tabs, which mean something else in filled text, write
// dates that no formatter reads, and do not break lines.
func Roff(page []byte, at time.Time) []byte {
	var out []string
	literal := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, ".TH "):
			out = append(out, strings.Replace(line, `"`+at.Format(rendered)+`"`, `"`+at.UTC().Format(time.DateOnly)+`"`, 1))
		case literal || strings.HasPrefix(line, "."):
			literal = line == ".EX" || line == ".TS" || literal && line != ".EE" && line != ".TE"
			out = append(out, line)
		case line != "": // paragraphs have macros
			out = filled(out, line)
		}
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

func filled(out []string, line string) []string {
	last := len(out) - 1
	text, indented := strings.CutPrefix(line, "\t")
	if last >= 0 && out[last] == ".SH NAME" { // which indexes read as one line
		return append(out, line)
	}
	if last < 0 || !indented {
		return append(out, wrapped(line)...)
	}
	flag := out[last] // and what it is for
	out = out[:last]
	if last > 0 && out[last-1] == ".PP" {
		out = out[:last-1]
	}
	return append(append(out, ".TP", flag), wrapped(text)...)
}

// wrapped is a line of filled text, broken at spaces. No line begins like a request.
func wrapped(line string) []string {
	var lines []string
	for len(line) > width {
		i := strings.LastIndexByte(line[:width+1], ' ')
		if i <= 0 {
			if i = strings.IndexByte(line, ' '); i < 0 {
				break
			}
		}
		lines = append(lines, line[:i])
		line = strings.TrimLeft(line[i:], " ")
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
	}
	return append(lines, line)
}
