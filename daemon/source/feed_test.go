package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/source"
)

// item decodes a feed of one item.
func item(t *testing.T, title, link string) source.FeedEntry {
	t.Helper()
	feed := fmt.Sprintf(`<rss version="2.0"><channel><item><title>%s</title><link>%s</link></item></channel></rss>`, title, link)
	items, err := source.ParseFeed(strings.NewReader(feed))
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return items[0]
}

func TestFeedTitles(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		`Plain`:                         "Plain",
		`AT&amp;T &amp; more`:           "AT&T & more",
		`a &lt; b and c &gt; d`:         "a < b and c > d",
		`<![CDATA[1 < 2 & 3]]>`:         "1 < 2 & 3",
		`<![CDATA[It&#8217;s]]>`:        "It’s",
		`&lt;b&gt;Bold&lt;/b&gt; claim`: "Bold claim",
		`<![CDATA[<img src="x">Pic]]>`:  "Pic",
		`no&nbsp;break`:                 "no\u00a0break",
	} {
		if got := item(t, title, "https://a.example/").Title; got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}

func TestFeedLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		`https://a.example/x?utm_source=rss&amp;utm_medium=feed`: "https://a.example/x",
		`https://a.example/x?b=1&amp;utm_source=rss&amp;a=2`:     "https://a.example/x?a=2&b=1",
		` http://a.example/x#part `:                              "http://a.example/x#part",
		`https://user:pass@a.example/`:                           "https://a.example/",
		`javascript:alert(1)`:                                    "",
		`data:text/html,x`:                                       "",
		`/relative`:                                              "",
		`https:///nohost`:                                        "",
		`https://a.example/` + strings.Repeat("x", 500):          "",
	} {
		if got := item(t, "T", link).Link; got != want {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
}

func TestFeedFailures(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]source.Class{
		``: source.ClassEmpty,
		`<rss version="2.0"><channel><title>t</title></channel></rss>`:      source.ClassEmpty,
		`<html><body>Just a moment</body></html>`:                           source.ClassBadContent,
		`<rss version="2.0"><channel><item><title>cut`:                      source.ClassBadContent,
		`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"}]}`: source.ClassBadContent,
		`Rate limit exceeded`: source.ClassRateLimited,
	} {
		if _, err := source.ParseFeed(strings.NewReader(body)); class(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
