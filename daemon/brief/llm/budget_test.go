package llm_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
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
// begins again.
func TestBudget(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		now, dir := noon(), testbed.Place(t)
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
			cfg.Ledger, cfg.Limit, cfg.Now = ledger(t, testbed.Place(t)), limit, noon
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
	books, release := ledger(t, testbed.Place(t)), make(chan struct{})
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
			books := ledger(t, testbed.Place(t))
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

// TestBoundsOfTheBudget: a text begins where the most that it can take just fits, and not where it exceeds the bound by a token. A text by
// a reader's prompt has nine tenths of the bound, and one by an owner's a fourth of those.
func TestBoundsOfTheBudget(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, d.says(d.end, holds))
		write := func(prompt, owner string, tokens int64) error {
			cfg, in := config(d, s), input(t)
			cfg.Ledger, cfg.Limit, cfg.Now = ledger(t, testbed.Place(t)), brief.Limit{Tokens: tokens}, noon
			in.Prompt, in.Owner = prompt, owner
			_, err := writer(t, cfg).Write(t.Context(), in)
			return err
		}
		for _, c := range []struct {
			prompt, owner string
			least         func(most int64) int64
		}{
			{"", "", func(most int64) int64 { return most }},
			{"", "ada", func(most int64) int64 { return most }},
			{"Only stablecoins.", "", func(most int64) int64 { return (most*10 + 8) / 9 }},
			{"Only stablecoins.", "ada", func(most int64) int64 { return (4*most*10 + 8) / 9 }},
		} {
			least, prompt, write := c.least, c.prompt, func(prompt string, tokens int64) error { return write(prompt, c.owner, tokens) }
			err := write(prompt, 1)
			if err == nil {
				t.Fatal("a text within one token")
			}
			most, convErr := strconv.ParseInt(regexp.MustCompile(`(\d+) tokens$`).FindStringSubmatch(err.Error())[1], 10, 64)
			if convErr != nil {
				t.Fatal(convErr)
			}
			if err := write(prompt, least(most)); err != nil {
				t.Errorf("prompt %q, %d tokens: %v", prompt, least(most), err)
			}
			if err := write(prompt, least(most)-1); err == nil || !strings.Contains(err.Error(), "budget") {
				t.Errorf("prompt %q, a token less than %d: %v", prompt, least(most), err)
			}
		}
	})
}

// TestBudgetOfAnOwner: one owner's prompts use their part of the budget up, and leave the rest to others; what was reserved for a text that
// is not begun is given back.
func TestBudgetOfAnOwner(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, d.says(d.end, holds))
		cfg := config(d, s)
		books := ledger(t, testbed.Place(t))
		cfg.Ledger, cfg.Limit, cfg.Now = books, brief.Limit{Tokens: 1_000_000}, noon
		w := writer(t, cfg)
		write := func(owner string) (err error) {
			in := input(t)
			in.Prompt, in.Owner = "Only stablecoins.", owner
			_, err = w.Write(t.Context(), in)
			return err
		}
		day := brief.Day(noon())
		if err := books.CorrectWriting(t.Context(), day+" ada", brief.Usage{InputTokens: 225_000}); err != nil {
			t.Fatal(err)
		}
		if err := write("ada"); err == nil || !strings.Contains(err.Error(), "the owner's part of the budget") {
			t.Errorf("over an owner's part: %v", err)
		}
		if err := write("bob"); err != nil {
			t.Errorf("another owner: %v", err)
		}
		if err := books.CorrectWriting(t.Context(), day, brief.Usage{InputTokens: 900_000}); err != nil {
			t.Fatal(err)
		}
		if err := write("eve"); err == nil || strings.Contains(err.Error(), "owner") {
			t.Errorf("over the budget of all: %v", err)
		}
		if took, err := books.Writing(t.Context(), day+" eve"); err != nil || took != (brief.Usage{}) {
			t.Errorf("a text that was not begun took %+v of its owner, %v", took, err)
		}
		if err := books.PruneWriting(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		bob, err := books.Writing(t.Context(), day+" bob")
		if err != nil || bob.Tokens() == 0 {
			t.Errorf("on the day itself what an owner took is gone: %+v, %v", bob, err)
		}
		if err := books.PruneWriting(t.Context(), brief.Day(noon().Add(24*time.Hour))); err != nil {
			t.Fatal(err)
		}
		bob, err = books.Writing(t.Context(), day+" bob")
		all, failed := books.Writing(t.Context(), day)
		if err != nil || failed != nil || bob.Tokens() != 0 || all.Tokens() < 900_000 {
			t.Errorf("the day after: %+v of an owner, %+v of all, %v, %v", bob, all, err, failed)
		}
	})
}

// TestCostIsRoundedUp: a text that takes something costs something.
func TestCostIsRoundedUp(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for _, c := range []struct {
			prices llm.Prices
			want   int64
		}{{llm.Prices{Input: 1}, 1}, {llm.Prices{Output: 1}, 1}, {llm.Prices{Input: 1_000_000}, 1234}, {llm.Prices{Input: 1_000_000, Output: 1}, 1235}, {llm.Prices{}, 0}} {
			cfg := config(d, serve(t, d.says(d.end, holds)))
			cfg.Ledger, cfg.Now, cfg.Prices = ledger(t, testbed.Place(t)), noon, c.prices
			if _, err := writer(t, cfg).Write(t.Context(), input(t)); err != nil {
				t.Fatal(err)
			}
			if got, err := cfg.Ledger.Writing(t.Context(), brief.Day(noon())); err != nil || got.CostMicros != c.want {
				t.Errorf("%+v: %+v, %v, want %d", c.prices, got, err, c.want)
			}
		}
	})
}

// ending ends a context as soon as something is to be settled.
type ending struct {
	*store.Store
	end context.CancelFunc
}

func (e ending) CorrectWriting(ctx context.Context, day string, by brief.Usage) error {
	e.end()
	return e.Store.CorrectWriting(ctx, day, by)
}

// TestSettledAfterTheEnd: what a text took is written down in the place of the guess, though nobody waits for it any more.
func TestSettledAfterTheEnd(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		ctx, cancel := context.WithCancel(t.Context())
		books := ledger(t, testbed.Place(t))
		cfg := config(d, serve(t, d.says(d.end, holds)))
		cfg.Ledger, cfg.Now = ending{books, cancel}, noon
		if _, err := writer(t, cfg).Write(ctx, input(t)); err != nil {
			t.Error(err)
		}
		if got, err := books.Writing(t.Context(), brief.Day(noon())); err != nil || got.Tokens() != 1234+321 {
			t.Errorf("taken %+v, %v", got, err)
		}
	})
}
