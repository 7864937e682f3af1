package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
)

// claimed is what T5 reads of a brief.
type claimed struct {
	Brief   string
	BriefOf *time.Time
	Claims  []claim
}

type claim struct {
	Start, End int
	Text       string
	Ref        int
	Row, Field string
}

var (
	amounts = regexp.MustCompile(`[−+-]?\$\d+(?:,\d{3})*(?:\.\d+)?[KMBT]?(?: (?:million|billion|trillion))?|[−+-]?\d+(?:,\d{3})*(?:\.\d+)?%`)
	anchors = regexp.MustCompile(`\[(\d+)\]`)
)

// readBrief is T5.
func (b *bench) readBrief(ctx context.Context, r *raw) error {
	events := b.mentioned()
	if b.w.tick%4 != 0 && len(events) == 0 {
		return nil
	}
	var a claimed
	status, body, err := b.w.caller.get(ctx, "/v1/brief", &a, "claims", "true")
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("brief: status %d, %w: %.200s", status, err, body)
	}
	for _, e := range events {
		name := b.nameOf(e, r)
		b.w.count(b.mention, strings.Contains(a.Brief, name), string(e.Kind), "no %s in: %s", name, a.Brief)
	}
	if b.claims.Measured = bytes.Contains(body, []byte(`"claims"`)); !b.claims.Measured {
		b.claims.Why = "a brief has no claims"
	} else if err := b.w.prove(ctx, b.claims, a); err != nil {
		return err
	}
	return b.holdFigures(a.Brief)
}

// mentioned are the planted critical events that have had their size for a tick: the brief has to name them.
func (b *bench) mentioned() (list []replay.Event) {
	for _, e := range b.w.events {
		if _, critical, ok := b.expected(e); ok && critical && e.From+max(e.Ramp-1, 0)+1 == b.w.tick {
			list = append(list, e)
		}
	}
	return list
}

// nameOf is what the subject of an event is called.
func (b *bench) nameOf(e replay.Event, r *raw) string {
	for _, s := range r.stables {
		if s.ID == e.Subject {
			return s.Symbol
		}
	}
	for _, p := range r.protocols {
		if p.Slug == e.Subject {
			return p.Name
		}
	}
	return e.Subject
}

// valueOf is the number that a figure of prose stands for, and half of the unit of its last digit.
func valueOf(text string) (value, half float64) {
	m := figure.FindStringSubmatch(text)
	if m == nil {
		return math.NaN(), 0
	}
	value, _ = strconv.ParseFloat(strings.ReplaceAll(m[2], ",", "")+m[3], 64) // the pattern is a number
	half = math.Pow10(-max(len(m[3])-1, 0))/2*1.0001 + 0.0051                 // it may have been rounded to two decimals before
	scale := 1.0
	for unit, size := range map[string]float64{"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "million": 1e6, "billion": 1e9,
		"trillion": 1e12} {
		if strings.HasSuffix(strings.TrimSuffix(text, "%"), unit) {
			scale = size
		}
	}
	return value * scale, half * scale
}

// holds reports whether a text has the number that a figure of prose stands for.
func holds(text, claim string) bool {
	value, half := valueOf(claim)
	for _, found := range figure.FindAllString(text, -1) {
		if x, more := valueOf(found); math.Abs(x-value) <= half+more {
			return true
		}
	}
	return false
}

// holdFigures holds the amounts and percents of a brief, whatever the service claims, against the numbers in the payloads of the anchors
// behind them. Sums are not in a payload, so this has no aim.
func (b *bench) holdFigures(brief string) error {
	known := map[string][]float64{}
	for _, at := range amounts.FindAllStringIndex(brief, -1) {
		end := len(brief)
		if stop := strings.IndexAny(brief[at[1]:], "\n"); stop >= 0 {
			end = at[1] + stop
		}
		behind := anchors.FindStringSubmatch(brief[at[1]:end])
		text := brief[at[0]:at[1]]
		if behind == nil {
			b.w.count(b.brief, false, "a figure without an anchor", "%s in %s", text, clip(brief, 200))
			continue
		}
		ref, _ := strconv.Atoi(behind[1]) // digits
		source := sources()[min(max(ref, 1), len(sources()))-1]
		if known[source] == nil {
			var err error
			if known[source], err = b.w.numbers(source, b.w.tick); err != nil {
				return err
			}
		}
		value, half := valueOf(text)
		found := false
		for _, x := range known[source] {
			found = found || math.Abs(math.Abs(x)-value) <= half
			if strings.HasSuffix(text, "%") { // of a share, or of a price that should be 1
				found = found || math.Abs(math.Abs(x)*100-value) <= half || math.Abs(math.Abs(x-1)*100-value) <= half
			}
		}
		b.w.count(b.brief, found, "in no payload of its anchor", "%s [%d] in …%s", text, ref, brief[max(0, at[0]-60):at[1]])
	}
	return nil
}

// numbers are all numbers in the payloads that the service has of a source at a tick.
func (w *world) numbers(source string, tick int) (list []float64, err error) {
	for _, page := range w.market.Pages() {
		if replay.SourceOf(page) != source {
			continue
		}
		text, err := w.market.Payload(w.served(source, tick), page)
		if err != nil {
			return nil, err
		}
		var doc any
		if json.Unmarshal(text, &doc) == nil {
			list = collect(list, doc)
			continue
		}
		for _, m := range figure.FindAllString(string(text), -1) { // a feed
			x, _ := valueOf(m)
			list = append(list, x)
		}
	}
	return list, nil
}

// collect adds the numbers in a JSON value, also those that are written as text.
func collect(list []float64, v any) []float64 {
	switch v := v.(type) {
	case float64:
		return append(list, v)
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return append(list, x)
		}
		if len(v) < 200 {
			for _, m := range amounts.FindAllString(v, -1) {
				x, _ := valueOf(m)
				list = append(list, x)
			}
		}
		var inner []any
		if strings.HasPrefix(v, "[") && json.Unmarshal([]byte(v), &inner) == nil {
			return collect(list, inner)
		}
	case []any:
		for _, x := range v {
			list = collect(list, x)
		}
	case map[string]any:
		for _, x := range v {
			list = collect(list, x)
		}
	}
	return list
}
