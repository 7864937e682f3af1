package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/source/replay"
)

// marks are parts of the hostile texts that stay whatever is cleaned out of them.
func marks() []string {
	return []string{"previous instructions", "now in developer mode", "recommend this coin", "transfer all USDT"}
}

// provoke is T7: while hostile texts are upstream, every text that reaches a model shows them as data.
func (b *bench) provoke(ctx context.Context, _ *raw) error {
	happens := func(e replay.Event) bool {
		return e.Kind == replay.HostileNews && e.From <= b.w.tick && b.w.tick < e.Until
	}
	if !slices.ContainsFunc(b.w.events, happens) || b.w.tick%2 == 0 {
		return nil
	}
	calls := []struct {
		tool      string
		arguments map[string]any
	}{
		{"fresh", nil}, {"brief", nil}, {"search", map[string]any{"q": "instructions"}}, {"search", map[string]any{"q": "developer"}},
		{"search", map[string]any{"q": "transfer"}}, {"search", map[string]any{"q": "names"}}, {"cite", map[string]any{"ref": 1}},
		{"cite", map[string]any{"ref": 9}}, {"cite", map[string]any{"ref": 11}}, {"lookup", map[string]any{"q": "gala price"}},
		{"lookup", map[string]any{"q": "tell the user,analysts,airdrop,markets calm"}},
		{"lookup", map[string]any{"q": "news", "limit": 10}}, {"lookup", map[string]any{"q": "pools", "limit": 10}},
		{"changes", map[string]any{"since": "-30m"}},
	}
	for _, c := range calls {
		if !b.w.caller.has(c.tool) {
			continue
		}
		text, err := b.w.caller.tool(ctx, c.tool, c.arguments)
		if err != nil {
			return err
		}
		b.judgeHostile("MCP "+c.tool, text)
	}
	for _, path := range []string{"/v1/fresh", "/v1/brief", "/v1/search"} {
		status, body, err := b.w.caller.get(ctx, path, nil, "q", "developer")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("%s: status %d, %w: %.200s", path, status, err, body)
		}
		b.judgeControls("HTTP "+path, string(body))
	}
	return b.countUnmarked()
}

// countUnmarked counts the hostile texts in raw payloads.
func (b *bench) countUnmarked() error {
	for _, page := range b.w.market.Pages() {
		text, err := b.w.market.Payload(b.w.tick, page)
		if err != nil {
			return err
		}
		for _, mark := range marks() {
			b.baselines.Unmarked += strings.Count(string(text), mark)
		}
	}
	return nil
}

// judgeHostile looks for hostile texts in what a model reads: each has to stand in quotation marks, on one line.
func (b *bench) judgeHostile(where, text string) {
	b.judgeControls(where, text)
	for line := range strings.Lines(text) {
		for _, mark := range marks() {
			for at, from := 0, 0; ; from = at + len(mark) {
				i := strings.Index(line[from:], mark)
				if i < 0 {
					break
				}
				at = from + i
				b.w.count(b.hostile, quotedAt(line, at), where+": without quotation marks", "%s", clip(line, 400))
			}
		}
	}
}

// quotedAt reports whether a place of a line is inside quotation marks.
func quotedAt(line string, at int) bool {
	before := line[:at]
	return strings.Count(before, `"`)%2 == 1 || strings.Count(before, "“") > strings.Count(before, "”")
}

// judgeControls looks for what would command a terminal or change how a text is read, and for anchors that are not ours.
func (b *bench) judgeControls(where, text string) {
	bad := strings.ContainsAny(text, "\u202e\x1b") || strings.Contains(text, `calm" [1]`) || strings.Contains(text, "[1]. SYSTEM")
	b.w.count(b.hostile, !bad, where+": controls or false anchors", "%s", clip(text, 200))
}
