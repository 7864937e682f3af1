package llm_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/store"
)

// ledger opens the books in dir.
func ledger(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// noon is the day of these tests.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// TestBudget: what a text took is kept, over a restart too, and no text is begun that could take more than is left. The next day
// begins anew.
func TestBudget(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		now, dir := noon(), t.TempDir()
		s := serve(t, d.says(d.end, holds))
		books := ledger(t, dir)
		open := func(limit brief.Limit) *llm.Writer {
			cfg := config(d, s)
			cfg.Ledger, cfg.Limit, cfg.Now = books, limit, func() time.Time { return now }
			return writer(t, cfg)
		}
		const once = 1234 + 321
		tokens := brief.Limit{Tokens: 2*once + 14_000} // room for the highest guess of a third text, but not of a fourth
		for range 2 {
			if _, err := open(tokens).Write(t.Context(), input(t)); err != nil {
				t.Fatal(err)
			}
		}
		if err := books.Close(); err != nil {
			t.Fatal(err)
		}
		books = ledger(t, dir)
		if got, err := books.Writing(t.Context(), "2026-11-20"); err != nil || got.Tokens() != 2*once || got.CostMicros != 2*(1234*3+321*15) {
			t.Fatalf("after a restart %+v, %v", got, err)
		}
		for name, limit := range map[string]brief.Limit{"tokens": {Tokens: 2*once + 100}, "cost": {CostMicros: 20_000}} {
			got, err := open(limit).Write(t.Context(), input(t))
			if err == nil || !strings.Contains(err.Error(), "the budget of 2026-11-20") || got.Usage != (brief.Usage{}) {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
		in := input(t)
		in.Prompt = "Only stablecoins."
		if _, err := open(brief.Limit{Tokens: 15_000}).Write(t.Context(), in); err == nil {
			t.Error("a reader's prompt used what is for the pack's brief")
		}
		if n := len(s.asked()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		now = now.Add(12 * time.Hour)
		if _, err := open(brief.Limit{Tokens: 15_000}).Write(t.Context(), input(t)); err != nil {
			t.Errorf("the next day: %v", err)
		}
	})
}

// TestSmallestBudget bounds readers' prompts too: a part of it is never no bound at all.
func TestSmallestBudget(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for name, limit := range map[string]brief.Limit{"tokens": {Tokens: 1}, "cost": {CostMicros: 1}} {
			s := serve(t, d.says(d.end, holds))
			cfg := config(d, s)
			cfg.Ledger, cfg.Limit, cfg.Now = ledger(t, t.TempDir()), limit, noon
			in := input(t)
			in.Prompt = "Only stablecoins."
			if _, err := writer(t, cfg).Write(t.Context(), in); err == nil || !strings.Contains(err.Error(), "the budget of 2026-11-20") {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(s.asked()); n != 0 {
				t.Errorf("%s: %d requests", name, n)
			}
		}
	})
}

// TestBudgetIsNotExceededTogether: of many writers at once, only those begin that fit.
func TestBudgetIsNotExceededTogether(t *testing.T) {
	t.Parallel()
	d := dialects()[0]
	books, release := ledger(t, t.TempDir()), make(chan struct{})
	s := serve(t, hangs(nil))
	cfg := config(d, s)
	cfg.Ledger, cfg.Limit, cfg.Now = books, brief.Limit{Tokens: 45_000}, noon
	w := writer(t, cfg)
	var all sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	ctx, cancel := contextOf(t)
	for range 8 {
		all.Go(func() {
			<-release
			if _, err := w.Write(ctx, input(t)); err != nil && strings.Contains(err.Error(), "budget") {
				mu.Lock()
				defer mu.Unlock()
				if refused++; refused == 5 {
					cancel() // the others hang
				}
			}
		})
	}
	close(release)
	all.Wait()
	got, err := books.Writing(t.Context(), brief.Day(noon()))
	if err != nil || refused != 5 || got.Tokens() > 45_000 {
		t.Errorf("%d of 8 refused, %+v taken, %v", refused, got, err)
	}
}

// TestRefusedCallsAreFree: what a server refuses to begin takes nothing; where it fails, the model may have written all the same.
func TestRefusedCallsAreFree(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for status, nothing := range map[int]bool{401: true, 429: true, 503: true, 529: true, 500: false, 502: false, 504: false} {
			books := ledger(t, t.TempDir())
			cfg := config(d, serve(t, fails(status, `{}`), fails(status, `{}`), fails(status, `{}`)))
			cfg.Ledger, cfg.Now, cfg.Retries = books, noon, 0
			if _, err := writer(t, cfg).Write(t.Context(), input(t)); err == nil {
				t.Errorf("%d: no error", status)
			}
			if got, err := books.Writing(t.Context(), brief.Day(noon())); err != nil || (got == (brief.Usage{})) != nothing {
				t.Errorf("%d: taken %+v, %v", status, got, err)
			}
		}
	})
}
