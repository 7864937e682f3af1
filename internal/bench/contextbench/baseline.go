package main

import (
	"slices"

	"github.com/contextd/contextd/daemon/source/replay"
)

// costs are bytes of answers, with the right ones among them.
type costs struct{ HTTP, MCP cost }

// cost is what answers through one interface cost.
type cost struct {
	Bytes int `json:"bytes"`
	Asked int `json:"asked"`
	Right int `json:"right"`
}

func (costs) count(c *cost, bytes int, right bool) {
	c.Bytes += bytes
	c.Asked++
	if right {
		c.Right++
	}
}

// tokens are those of a right answer, at four bytes of UTF-8 each.
func (c cost) tokens() float64 { return float64(c.Bytes) / 4 / float64(max(c.Right, 1)) }

// baselines are two ways to answer without a context service, each read by somebody who makes no mistake: all payloads in one, and a tool
// for each upstream that forwards its payload. They cite the address that they read; they date what the payload dates.
type baselines struct {
	All     cost `json:"allPayloads"`
	Adapter cost `json:"adapter"`
	Dated   int  `json:"dated"`

	Sick     int `json:"sick"`     // sources that were dead or frozen
	Told     int `json:"told"`     // of these, where the answer tells: an error, or a time in the payload
	Unmarked int `json:"unmarked"` // hostile texts, none of which is marked
}

// dated reports whether the payload of a source says of when its rows are.
func dated(source string) bool {
	return slices.Contains([]string{
		"coingecko-markets", "coingecko-global", "coingecko-categories", "alternativeme-fng",
		"news-coindesk", "news-cointelegraph", "news-decrypt", "blockscout-gas",
	}, source)
}

// ask answers a question of T1.
func (b *baselines) ask(w *world, q question) error {
	all, one := 0, 0
	for _, page := range w.market.Pages() {
		text, err := w.market.Payload(w.tick, page)
		if err != nil {
			return err
		}
		all += len(text)
		if replay.SourceOf(page) == q.want.source {
			one += len(text)
		}
	}
	costs{}.count(&b.All, all, true)
	costs{}.count(&b.Adapter, one, true)
	if dated(q.want.source) {
		b.Dated++
	}
	return nil
}

// sick answers a question about a source that is dead or frozen.
func (b *baselines) sick(source string, frozen bool) {
	b.Sick++
	if !frozen || dated(source) {
		b.Told++
	}
}
