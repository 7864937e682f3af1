package reader_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// daily is how many states a day has.
const daily = 288

// newPast makes a Reader of the crypto pack with a day of states in a history on disk, and what forgets the questions that were read.
func newPast(b *testing.B) (r *reader.Reader, forget func()) {
	b.Helper()
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	rec, p := replay.New(clock), pack.Crypto()
	h, err := history.Open(b.Context(), b.TempDir(), at)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	if _, err := h.OpenPack(b.Context(), p.ID, at); err != nil {
		b.Fatal(err)
	}
	f := source.NewFetcher(source.Config{Transport: rec, Now: clock, Shift: rec.Shift})
	in := pack.Input{Readings: make(map[string]pack.Reading)}
	var newest state.Pulse
	for i := range daily + 1 {
		if i < 3 { // what was recorded
			for _, s := range p.Sources {
				out := f.Fetch(b.Context(), s.Connector, nil)
				if out.Err != nil {
					b.Fatal(out.Err)
				}
				in.Readings[s.ID] = pack.Reading{Doc: out.Doc}
			}
			rec.Advance()
		}
		for id, r := range in.Readings {
			if d, is := r.Doc.(*source.MarketsDoc); is {
				for c := range d.Coins {
					d.Coins[c].Price *= 1 + float64((i*7919+c*31)%977-488)/1e6
				}
			}
			in.Readings[id] = pack.Reading{Doc: r.Doc, FetchedAt: at}
		}
		in.Now = at
		doc, err := p.Compact(in)
		if err != nil {
			b.Fatal(err)
		}
		in.Prev = state.Read(doc)
		newest = state.Pulse{Pack: p.ID, Version: p.Version, GeneratedAt: at, State: doc, Citations: p.Citations(in.Prev, p.Status(in), at)}
		if _, err := h.SavePulse(b.Context(), newest, state.Brief{}, nil); err != nil {
			b.Fatal(err)
		}
		at = at.Add(24 * time.Hour / daily)
	}
	fd, rows := feed.New(p.ID), p.Tables(in)
	if err := fd.Publish(newest, state.Narration{}, rows); err != nil {
		b.Fatal(err)
	}
	edition, _ := fd.Latest(p.ID)
	r = reader.New(reader.Config{
		Packs: []reader.Pack{{ID: p.ID, Shown: p.Shown}}, Feed: fd, History: h, Now: clock,
	})
	return r, func() {
		if err := fd.PublishHealth(p.ID, rows, edition.Ages()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows asks tables and states of the past for rows, and reports how long the median call and the 99th of a hundred took, what
// processor time a call takes, and the load of the machine. No question is asked of the same tables twice.
func BenchmarkRows(b *testing.B) {
	r, forget := newPast(b)
	query := func(text string) api.Query {
		q := api.Query{Op: api.OpQuery, Pack: api.PackCrypto, Table: "asset", Limit: api.DefaultQueryLimit}
		for word := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(word, ":")
			switch name {
			case "where":
				q.Where = value
			case "order":
				q.Order = value
			case "agg":
				q.Agg = value
			case "at":
				q.At = api.Minute(time.Date(2026, 11, 21, 7, 31, 0, 0, time.UTC))
			case "over":
				q.Over = 24 * time.Hour
			}
		}
		return q
	}
	lookup := func(text string) api.Query {
		return api.Query{Op: api.OpLookup, Pack: api.PackCrypto, Text: text, Limit: 3}
	}
	for _, c := range []struct {
		name string
		q    api.Query
	}{
		{"query one row", query("where:symbol=BTC")}, {"query top 10", query("order:-change24hPct")},
		{"query at", query("where:symbol=BTC at:x")}, {"query over", query("where:symbol=BTC over:x")},
		{"query extremes of one", query("where:symbol=BTC over:x agg:min:priceUsd")}, {"query extremes of all", query("over:x agg:min:priceUsd")},
		{"lookup one row", lookup("what is the price of bitcoin?")}, {"lookup ranked", lookup("top 5 coins by market cap")},
		{"lookup past", lookup("bitcoin price at 07:31")}, {"lookup misspelled", lookup("bitcion price")},
		{"lookup 4 KB", lookup(most("bitcoin up by 3 or what "))}, {"lookup 4 KB of ranks", lookup(most("top 5 first "))},
		{"lookup 4 KB misspelled", lookup(most("bitcion etherum "))},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			b.ReportAllocs()
			spent := processor(b)
			for b.Loop() {
				forget()
				began := time.Now()
				v, err := r.Ready(c.q)
				if err == nil {
					_, err = r.Answer(b.Context(), v, 48*time.Hour)
				}
				took = append(took, time.Since(began))
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processor(b)-spent).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			report(b, took)
		})
	}
}

// most is as many questions of the words as one call may ask, each as long as it may be.
func most(words string) string {
	q := strings.TrimSpace(strings.Repeat(words, api.MaxLookupQuery/len(words)))
	list := make([]string, api.MaxQuestions)
	for i := range list {
		list[i] = q[:len(q)-i] // no two are the same
	}
	return strings.Join(list, ",")
}

// processor is the processor time that this process has taken.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// report reports the median and the 99th percentile of how long calls took, and the load of the machine.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		var load float64
		if _, err := fmt.Sscan(string(text), &load); err == nil {
			b.ReportMetric(load, "load")
		}
	}
}
