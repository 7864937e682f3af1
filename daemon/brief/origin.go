package brief

import (
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/brief/ground"
)

// Signs around a part of a sentence that says a value of the state: its path stands between the first two. No text of a state has any of
// them, for prose.Inline takes control characters out.
const (
	originOpen  = "\x02"
	originText  = "\x1f"
	originClose = "\x03"
)

// said is text, marked as what the state has at path, so that no one need search where it is from. An empty path marks nothing.
func said(path, text string) string {
	if path == "" || text == "" {
		return text
	}
	return originOpen + path + originText + text + originClose
}

// unmarked is a sentence without its marks, and what they say.
func unmarked(marked string) (text string, origins []ground.Origin) {
	var b strings.Builder
	at := 0
	write := func(s string) {
		b.WriteString(s)
		at += utf8.RuneCountInString(s)
	}
	for {
		before, rest, found := strings.Cut(marked, originOpen)
		write(before)
		if !found {
			return b.String(), origins
		}
		path, rest, _ := strings.Cut(rest, originText)
		told, rest, _ := strings.Cut(rest, originClose)
		start := at
		write(told)
		origins, marked = append(origins, ground.Origin{Start: start, End: at, Path: path}), rest
	}
}

// placed is where a row stands in the state.
type placed struct {
	Path string `json:"@path"`
}

// says is text, marked as what a member of the row has.
func (p placed) says(member, text string) string {
	if p.Path == "" {
		return text
	}
	return said(p.Path+"."+member, text)
}
