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
		text, indented := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, ".TH "):
			out = append(out, strings.Replace(line, `"`+at.Format(rendered)+`"`, `"`+at.UTC().Format(time.DateOnly)+`"`, 1))
		case line == "" && !literal: // paragraphs have macros
		case literal || strings.HasPrefix(line, "."):
			literal = line == ".EX" || line == ".TS" || literal && line != ".EE" && line != ".TE"
			out = append(out, line)
		case indented && len(out) > 0: // a flag, and what it is for
			flag := out[len(out)-1]
			out = out[:len(out)-1]
			if len(out) > 0 && out[len(out)-1] == ".PP" {
				out = out[:len(out)-1]
			}
			out = append(append(out, ".TP", flag), wrapped(text)...)
		case len(out) > 0 && out[len(out)-1] == ".SH NAME": // which indexes read as one line
			out = append(out, line)
		default:
			out = append(out, wrapped(line)...)
		}
	}
	return []byte(strings.Join(out, "\n") + "\n")
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
