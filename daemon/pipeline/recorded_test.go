package pipeline_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/sdk/api"
)

// recordedPack is a pack of four real sources whose state is their status and nothing else.
func recordedPack() *pack.Pack {
	p := newPack()
	for _, c := range []source.Connector{source.Kraken(), source.FearGreed(), source.MempoolFees(), source.DefiLlamaProtocols()} {
		p.Sources = append(p.Sources, pack.Source{Connector: c, Name: c.ID, PublicURL: "https://" + c.ID + ".example/"})
	}
	return p
}

// status answers every request with an HTTP status and a header.
func status(code int, name, value string) replay.Answer {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{}
		h.Set(name, value)
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
	}
}

// TestRecordedSources runs real connectors and the real fetcher over recorded answers.
func TestRecordedSources(t *testing.T) {
	virtual(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC))) // when the answers were recorded
		var rec *replay.Recording
		r := build(t, recordedPack(), func(r *rig) {
			rec = replay.New(r.clock.now)
			r.cfg.Fetcher = source.NewFetcher(source.Config{Transport: rec, Now: r.clock.now})
		})
		begin := r.clock.now().UTC()
		stop := r.start()
		time.Sleep(time.Second)
		for _, s := range r.served().SourceStatus {
			if s.Status != api.SourceOK || s.Items == 0 {
				t.Errorf("%s: %+v", s.ID, s)
			}
		}
		rec.Break("api.kraken.com", status(http.StatusTooManyRequests, "Retry-After", "1200"))
		rec.Break("mempool.space", nil)
		rec.Break("api.llama.fi", status(http.StatusNotModified, "ETag", "x"))
		time.Sleep(30 * time.Minute)
		want(t, "kraken", []any{r.status("kraken-ticker").Status, *r.status("kraken-ticker").Error, r.record("kraken-ticker").NotBefore},
			[]any{api.SourceStale, "rate_limited: HTTP 429, retry after 1200s", begin.Add(45 * time.Minute)})
		want(t, "mempool", []any{*r.status("mempool-fees").Error, r.status("mempool-fees").Failures}, []any{"network: connection refused", 6})
		want(t, "llama", []any{r.status("defillama-protocols").Status, *r.status("defillama-protocols").FetchedAt},
			[]any{api.SourceOK, begin.Add(30 * time.Minute)})
		stop()
		r.reopen(func(r *rig) {
			rec.Mend()
			rec.Break("api.alternative.me", nil) // must not be asked
			r.cfg.Fetcher = source.NewFetcher(source.Config{Transport: rec, Now: r.clock.now})
		})
		r.start()
		time.Sleep(5 * time.Minute)
		for id, want := range map[string]api.SourceState{
			"kraken-ticker": api.SourceStale, "mempool-fees": api.SourceOK, "alternativeme-fng": api.SourceOK, "defillama-protocols": api.SourceOK,
		} {
			if got := r.status(id); got.Status != want {
				t.Errorf("%s after the restart: %+v, want %s", id, got, want)
			}
		}
	})
}
