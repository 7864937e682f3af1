package pack

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

const (
	newsWindow = 6 * time.Hour // headlines that are older count for nothing
	sameStory  = 0.5           // least Jaccard index of two headlines that tell the same
)

// story is one piece of news: the newest headline and all publishers that carry it.
type story struct {
	api.Headline
	wording
	texts []string // all headlines, as normalize writes them, so that any of them can put the story on a topic
}

// cluster groups the headlines of the last six hours into stories, newest first. A headline joins the first story whose newest
// headline it resembles; it is never compared with the others, so that no chain of small steps joins two stories.
func cluster(headlines []headline, now time.Time) []story {
	var stories []story
	for _, h := range recent(headlines, now) {
		text, of := normalize(h.Title), wordingOf(h.Title)
		i := slices.IndexFunc(stories, func(s story) bool { return s.same(of) })
		if i < 0 {
			stories = append(stories, story{Headline: h, wording: of, texts: []string{text}})
			continue
		}
		s := &stories[i]
		s.texts = append(s.texts, text)
		if at, known := slices.BinarySearch(s.Sources, h.Ref); !known {
			s.Sources = slices.Insert(s.Sources, at, h.Ref)
		}
	}
	return stories
}

// recent lists the headlines of the last six hours, newest first, ties by anchor and title.
func recent(headlines []headline, now time.Time) []api.Headline {
	var list []api.Headline
	for _, h := range headlines {
		if now.Sub(h.PublishedAt) <= newsWindow {
			list = append(list, api.Headline{
				Title: h.Title, URL: h.URL, PublishedAt: h.PublishedAt.UTC(), Ref: h.Ref, Sources: []int{h.Ref},
			})
		}
	}
	slices.SortFunc(list, func(a, b api.Headline) int {
		return cmp.Or(b.PublishedAt.Compare(a.PublishedAt), cmp.Compare(a.Ref, b.Ref),
			strings.Compare(a.Title, b.Title), strings.Compare(a.URL, b.URL))
	})
	return list
}

// normalize writes a text as its words, letters and digits in lower case, with one space before, between and behind them. So a
// phrase that is written the same way can be looked for as a substring.
func normalize(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return " " + strings.Join(words, " ") + " "
}

// wording is what a headline is compared by.
type wording struct {
	words   map[string]bool // that tell what it is about, in lower case
	names   map[string]bool // of these, those that are written as names are
	figures map[string]bool
}

// wordingOf reads a headline. A word of capitals is a name, and no stop word; so is one that begins with a capital, where not most words
// of the headline do.
func wordingOf(title string) wording {
	w := wording{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	tokens := strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
	capitals := 0
	for _, token := range tokens {
		if first, _ := utf8.DecodeRuneInString(token); unicode.IsUpper(first) {
			capitals++
		}
	}
	for _, token := range tokens {
		if token = strings.Trim(token, "."); token == "" {
			continue
		}
		first, size := utf8.DecodeRuneInString(token)
		lower := strings.ToLower(token)
		switch symbol := token == strings.ToUpper(token) && size < len(token); {
		case unicode.IsDigit(first):
			w.figures[lower] = true
			w.words[lower] = true
		case symbol, unicode.IsUpper(first) && 2*capitals <= len(tokens) && !stopWord(lower):
			w.names[lower] = true
			w.words[lower] = true
		case !stopWord(lower):
			w.words[lower] = true
		}
	}
	return w
}

// same reports whether two headlines tell the same: most of their words are shared, neither names what the other does not beside something
// that only the other names, and the figures of one are among those of the other.
func (w wording) same(o wording) bool {
	return jaccard(w.words, o.words) >= sameStory && (within(w.names, o.words) || within(o.names, w.words)) &&
		(within(w.figures, o.figures) || within(o.figures, w.figures))
}

// within reports whether all words of a are in b.
func within(a, b map[string]bool) bool {
	for word := range a {
		if !b[word] {
			return false
		}
	}
	return true
}

// stopWord reports whether w says nothing about the subject of a headline.
func stopWord(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "its", "it", "is", "are", "was", "be", "has", "have", "will",
		"to", "of", "in", "on", "at", "for", "by", "with", "from", "into", "as", "and", "or", "but", "not",
		"after", "before", "amid", "near", "over", "than", "s", "new", "says", "say", "see", "sees", "set", "hits", "hit":
		return true
	}
	return false
}

// jaccard is how much two sets have in common: 0 is nothing, 1 everything. Two empty sets have nothing in common.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}
