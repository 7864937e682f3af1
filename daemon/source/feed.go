package source

import (
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
)

type feedEntry struct {
	Title     string     // text without markup, not cleaned otherwise
	Link      string     // http or https, without what only serves tracking; "" for every other kind
	Published *time.Time // nil if unknown
}

// parseItems decodes a body that is RSS or Atom. A feed without items is a failure of class empty.
func parseItems(body io.Reader) ([]*gofeed.Item, error) {
	br, err := openBody(body, "<", "a feed")
	if err != nil {
		return nil, err
	}
	feed, err := gofeed.NewParser().Parse(br)
	if err != nil {
		return nil, fail(ClassBadContent, "not a feed, or a broken one")
	}
	if len(feed.Items) == 0 {
		return nil, fail(ClassEmpty, "the feed has no items")
	}
	return feed.Items, nil
}

// parseFeed is parseItems with what a headline needs of each.
func parseFeed(body io.Reader) ([]feedEntry, error) {
	found, err := parseItems(body)
	if err != nil {
		return nil, err
	}
	items := make([]feedEntry, len(found))
	for i, item := range found {
		items[i] = feedEntry{Title: plainText(item.Title), Link: CleanLink(item.Link), Published: item.PublishedParsed}
	}
	return items, nil
}

// tag matches an HTML tag. A title such as "1 < 2" has none.
var tag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

// plainText reduces a title that may be HTML to its text.
func plainText(title string) string { return html.UnescapeString(tag.ReplaceAllString(title, "")) }

const maxLink = 500

// CleanLink returns a link to the web without tracking parameters, "" for every other one.
func CleanLink(link string) string {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	u.User = nil
	if clean := u.String(); len(clean) <= maxLink {
		return clean
	}
	return ""
}
