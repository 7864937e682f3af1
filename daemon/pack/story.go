package pack

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/sdk/api"
)

const (
	newsWindow = 6 * time.Hour // headlines that are older count for nothing
	sameStory  = 0.5           // least Jaccard index of two headlines that tell the same
)

// story is one piece of news: the newest headline and all publishers that carry it.
type story struct {
	api.Headline
	words map[string]bool // that matter, of the newest headline
	texts []string        // all headlines, as normalize writes them, so that any of them can put the story on a topic
}

// cluster groups the headlines of the last six hours into stories, newest first. A headline joins the first story whose newest
// headline it resembles; it is never compared with the others, so that no chain of small steps joins two stories.
func cluster(headlines []headline, now time.Time) []story {
	var stories []story
	for _, h := range recent(headlines, now) {
		text := normalize(h.Title)
		words := significant(text)
		i := slices.IndexFunc(stories, func(s story) bool { return jaccard(s.words, words) >= sameStory })
		if i < 0 {
			stories = append(stories, story{Headline: h, words: words, texts: []string{text}})
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

// significant is the set of words of a normalized text that tell what it is about.
func significant(text string) map[string]bool {
	words := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		if !stopWord(w) {
			words[w] = true
		}
	}
	return words
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
