package source

import (
	"io"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// NewsCoinDesk is news-coindesk. Of all news only headlines and links are kept.
func NewsCoinDesk() Connector {
	return news("news-coindesk", "https://www.coindesk.com/arc/outboundfeeds/rss?outputType=xml",
		useNews("CoinDesk", "https://www.coindesk.com/terms"))
}

// NewsCointelegraph is news-cointelegraph.
func NewsCointelegraph() Connector {
	return news("news-cointelegraph", "https://cointelegraph.com/rss",
		useNews("Cointelegraph", "https://cointelegraph.com/terms-and-privacy"))
}

// NewsDecrypt is news-decrypt.
func NewsDecrypt() Connector {
	return news("news-decrypt", "https://decrypt.co/feed", useNews("Decrypt", "https://decrypt.co/terms-of-service"))
}

func news(id, url string, use api.Use) Connector {
	return document(Connector{ID: id, Interval: 10 * time.Minute, StaleAfter: 15 * time.Minute, Use: use}, url, decodeNews)
}

// decodeNews drops items without a title or a link. A time that cannot be read, or lies ahead, is the time of the fetch.
func decodeNews(body io.Reader, at time.Time) (*NewsDoc, int, error) {
	items, err := parseFeed(body)
	if err != nil {
		return nil, 0, err
	}
	doc, seen := &NewsDoc{}, make(map[string]bool)
	for _, item := range items {
		h := Headline{Title: human.Label(item.Title, CapHeadline), URL: item.Link, PublishedAt: at}
		if item.Published != nil {
			h.PublishedAt = clampTime(item.Published.UTC(), at)
		}
		if h.Title == "" || h.URL == "" || seen[h.URL] {
			continue
		}
		seen[h.URL] = true
		doc.Items = append(doc.Items, h)
	}
	dropped := len(items) - len(doc.Items)
	slices.SortStableFunc(doc.Items, func(a, b Headline) int { return b.PublishedAt.Compare(a.PublishedAt) })
	doc.Items = capRows(doc.Items)
	return doc, dropped, nil
}
