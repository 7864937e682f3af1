package brief_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// model writes what it is told to and notes what it was asked.
type model struct {
	mu      sync.Mutex // guards what follows
	err     error
	text    string
	prompts []string
	hold    chan struct{} // not nil: it waits for that, or the end of its time
}

func (m *model) Name() string { return "test/model" }

func (m *model) Write(ctx context.Context, in brief.Input) (brief.Draft, error) {
	m.mu.Lock()
	m.prompts = append(m.prompts, in.Prompt)
	text, err, hold := m.text, m.err, m.hold
	m.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return brief.Draft{}, ctx.Err()
		}
	}
	if text == "" {
		text = fmt.Sprintf("By the prompt %q all is well [1].", in.Prompt)
	}
	return brief.Draft{Text: text, Usage: brief.Usage{InputTokens: 7}}, err
}

// set says how the model writes from now on.
func (m *model) set(text string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text, m.err = text, err
}

// asked is how often it was asked.
func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.prompts)
}

// office is an Editor with all around it.
type office struct {
	*brief.Editor
	store   *store.Store
	history *history.History
	model   *model
	owner   string
	cfg     brief.EditorConfig
	edition *feed.Edition
	feed    *feed.Feed
}

// born is the time of the first state.
func born() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// build makes an office with one owner, one state and one brief. Each change is made to the Config before.
func build(t *testing.T, changes ...func(*brief.EditorConfig)) *office {
	t.Helper()
	dir := testbed.Place(t)
	o := &office{model: new(model), feed: feed.New(api.PackCrypto)}
	var err error
	if o.store, err = store.Open(t.Context(), dir, born()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.store.Close() })
	if o.history, err = history.Open(t.Context(), dir, born()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.history.Close() })
	if _, err := o.history.OpenPack(t.Context(), api.PackCrypto, born()); err != nil {
		t.Fatal(err)
	}
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: o.store, Env: api.EnvTest, Now: born})
	if err != nil {
		t.Fatal(err)
	}
	o.owner = account.OperatorID // who is there with their first key
	if _, err := keys.Issue(t.Context(), account.NewKey{OwnerID: o.owner, Name: "test"}); err != nil {
		t.Fatal(err)
	}
	o.cfg = brief.EditorConfig{
		Packs: func() []string { return []string{api.PackCrypto} }, Models: []brief.Writer{o.model}, Store: o.store, History: o.history, Wait: time.Hour, Now: born,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, change := range changes {
		change(&o.cfg)
	}
	o.open(t)
	o.pulse(t, 0)
	return o
}

// open makes the Editor, again after a Close.
func (o *office) open(t *testing.T) {
	o.Editor = brief.NewEditor(t.Context(), o.cfg)
	t.Cleanup(o.Editor.Close)
}

// pulse makes the n-th state and its brief.
func (o *office) pulse(t *testing.T, n int) {
	t.Helper()
	p := state.Pulse{Pack: api.PackCrypto, Version: 1, GeneratedAt: born().Add(time.Duration(n) * 5 * time.Minute), State: []byte(`{"sentiment":{"fearGreed":{"value":24,"label":"Extreme Fear","previousDay":27,"weekAgo":44,"ref":1}},"source_status":[{"ref":1,"id":"one","status":"ok"}]}`),
		Citations: []api.Citation{{Ref: 1, SourceID: "one", URL: "https://one.test/", FetchedAt: born()}}}
	b := state.Brief{Text: "The pack is quiet [1].", At: p.GeneratedAt.Add(time.Second), Of: p.GeneratedAt, Writer: "built-in"}
	_, err := o.history.SavePulse(t.Context(), p, b, nil)
	err = errors.Join(err, o.feed.Publish(p, state.Narration{Brief: b}, nil))
	if err != nil {
		t.Fatal(err)
	}
	o.edition, _ = o.feed.Latest(api.PackCrypto)
}

// wish sets the owner's prompt.
func (o *office) wish(t *testing.T, prompt string) {
	t.Helper()
	if err := o.store.SetPrompt(t.Context(), o.owner, api.PackCrypto, prompt, born()); err != nil {
		t.Fatal(err)
	}
}

// gets fails unless the owner gets text, and a warning with the given part, "" for none.
func (o *office) gets(t *testing.T, what, text, warning string) {
	t.Helper()
	b, why := o.Of(t.Context(), o.owner, api.TierPro, o.edition)
	if b.Text != text || (why == "") != (warning == "") || !strings.Contains(why, warning) {
		t.Errorf("%s: got %q, %q; want %q, %q", what, b.Text, why, text, warning)
	}
}

const (
	ofPack   = "The pack is quiet [1]."
	byPrompt = `By the prompt "Stablecoins only." all is well [1].`
)

// TestOncePerState: however often it is asked for, over a restart too.
func TestOncePerState(t *testing.T) {
	t.Parallel()
	o := build(t)
	o.gets(t, "without a prompt", ofPack, "")
	o.wish(t, "Stablecoins only.")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { o.gets(t, "together", byPrompt, "") })
	}
	all.Wait()
	o.Close()
	o.open(t)
	o.gets(t, "after a restart", byPrompt, "")
	if n := o.model.asked(); n != 1 {
		t.Errorf("%d texts for one state", n)
	}
	o.pulse(t, 1)
	o.gets(t, "the next state", byPrompt, "")
	o.gets(t, "the next state", byPrompt, "")
	if n := o.model.asked(); n != 2 {
		t.Errorf("%d texts for two states", n)
	}
	o.wish(t, "")
	o.gets(t, "without a prompt again", ofPack, "")
}

// TestOnlyWhoMay: other tiers and callers without a key get the pack's brief, without a word.
func TestOnlyWhoMay(t *testing.T) {
	t.Parallel()
	o := build(t)
	o.wish(t, "Stablecoins only.")
	for _, tier := range api.Tiers() {
		b, why := o.Of(t.Context(), o.owner, tier, o.edition)
		own := b.Text == byPrompt
		if own != tier.AtLeast(api.TierPro) || why != "" {
			t.Errorf("%s gets %q, %q", tier, b.Text, why)
		}
	}
	if b, why := o.Of(t.Context(), "", api.TierPro, o.edition); b.Text != ofPack || why != "" {
		t.Errorf("nobody gets %q, %q", b.Text, why)
	}
}

// TestCallerHasLeft: a prompt that is not read because its caller has left is no error of the service's, and one for another reason is.
func TestCallerHasLeft(t *testing.T) {
	t.Parallel()
	var log testbed.Log
	o := build(t, func(c *brief.EditorConfig) { c.Logger = log.Logger() })
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if b, why := o.Of(ctx, o.owner, api.TierPro, o.edition); b.Text != ofPack || why == "" {
		t.Errorf("who has left gets %q, %q", b.Text, why)
	}
	if log.Count("prompt not read", "level=DEBUG") != 1 || log.Count("level=ERROR") != 0 {
		t.Errorf("of a caller who has left it logs %s", log.String())
	}
	if err := o.store.Close(); err != nil {
		t.Fatal(err)
	}
	if b, why := o.Of(t.Context(), o.owner, api.TierPro, o.edition); b.Text != ofPack || why == "" {
		t.Errorf("without a store one gets %q, %q", b.Text, why)
	}
	if log.Count("prompt not read", "level=ERROR") != 1 {
		t.Errorf("of a store that fails it logs %s", log.String())
	}
}

// TestChangedPrompt: it holds at once, but not without end.
func TestChangedPrompt(t *testing.T) {
	t.Parallel()
	o := build(t)
	for _, prompt := range []string{"a", "b", "c"} {
		o.wish(t, prompt)
		o.gets(t, prompt, fmt.Sprintf("By the prompt %q all is well [1].", prompt), "")
	}
	o.wish(t, "d")
	o.gets(t, "the fourth", ofPack, "changed too often")
	o.wish(t, "c")
	o.gets(t, "back to the third", `By the prompt "c" all is well [1].`, "")
	o.pulse(t, 1)
	o.wish(t, "d")
	o.gets(t, "the next state", `By the prompt "d" all is well [1].`, "")
}

// TestFallback: whatever goes wrong, there is a brief, and a word about it. A failed text is not tried again for the same state.
func TestFallback(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*model){
		"fails":   func(m *model) { m.set("", errors.New("boom")) },
		"invents": func(m *model) { m.set("All is at $5,000 [1].", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := build(t)
			o.wish(t, "Stablecoins only.")
			change(o.model)
			o.gets(t, "first", ofPack, "by your prompt")
			o.model.set("", nil)
			o.gets(t, "again", ofPack, "by your prompt")
			if n := o.model.asked(); n != 1 {
				t.Errorf("%d texts", n)
			}
			if r, err := o.Check(t.Context(), api.PackCrypto); err != nil || r.Owners != (brief.Owners{Failed: 1}) {
				t.Errorf("report %+v, %v", r.Owners, err)
			}
			o.pulse(t, 1)
			o.gets(t, "next state", byPrompt, "")
			if r, err := o.Check(t.Context(), api.PackCrypto); err != nil || r.Owners != (brief.Owners{Written: 1}) {
				t.Errorf("report %+v, %v", r.Owners, err)
			}
		})
	}
	t.Run("no model", func(t *testing.T) {
		t.Parallel()
		o := build(t, func(c *brief.EditorConfig) { c.Models = nil })
		o.wish(t, "Stablecoins only.")
		o.gets(t, "without a model", ofPack, "no language model")
	})
}

// TestNobodyWaitsForAModel: an owner gets the pack's brief, and their own as soon as it is there. The end does not wait either.
func TestNobodyWaitsForAModel(t *testing.T) {
	t.Parallel()
	o := build(t, func(c *brief.EditorConfig) { c.Wait = time.Millisecond })
	o.wish(t, "Stablecoins only.")
	o.model.hold = make(chan struct{})
	o.gets(t, "while it is written", ofPack, "still being written")
	o.pulse(t, 1)
	o.gets(t, "while another is written", ofPack, "still being written")
	if n := o.model.asked(); n > 1 {
		t.Errorf("%d texts at once for one owner", n)
	}
	o.Close() // ends the one that hangs
	o.model.hold = nil
	o.cfg.Wait = time.Hour
	o.open(t)
	o.gets(t, "after a restart", byPrompt, "")
}

// TestHangingModelIsGivenUp: after the time for one text.
func TestHangingModelIsGivenUp(t *testing.T) {
	t.Parallel()
	o := build(t, func(c *brief.EditorConfig) { c.TextWithin = time.Millisecond })
	o.wish(t, "Stablecoins only.")
	o.model.hold = make(chan struct{})
	o.gets(t, "after its time", ofPack, "by your prompt")
}

func TestPreview(t *testing.T) {
	t.Parallel()
	o := build(t)
	o.model.set("All is at $5,000 [1].", nil)
	p, err := o.Preview(t.Context(), api.PackCrypto, "")
	if err != nil || p.Writer != "built-in" || p.Text == "" || !p.GeneratedAt.Equal(born()) || p.Usage.InputTokens != 7 {
		t.Errorf("preview %+v, %v", p, err)
	}
	if len(p.Refused) != 1 || p.Refused[0].Writer != "test/model" || p.Refused[0].Text == "" || len(p.Refused[0].Findings) != 1 ||
		!strings.HasPrefix(p.Refused[0].Findings[0], `figure "$5,000"`) {
		t.Errorf("refused %+v", p.Refused)
	}
	if p, err := o.Preview(t.Context(), api.PackCrypto, "test/model"); err != nil || p.Writer != "" || p.Text != "" || len(p.Refused) != 1 {
		t.Errorf("the model alone: %+v, %v", p, err)
	}
	o.model.set("", errors.New("boom"))
	if p, err := o.Preview(t.Context(), api.PackCrypto, "test/model"); err != nil || p.Refused[0].Error != "boom" {
		t.Errorf("a model that fails: %+v, %v", p, err)
	}
	if p, err := o.Preview(t.Context(), api.PackCrypto, "built-in"); err != nil || p.Writer != "built-in" || len(p.Refused) != 0 {
		t.Errorf("built-in: %+v, %v", p, err)
	}
	for _, c := range []struct {
		pack, writer string
		want         api.Reason
	}{{"no-such-pack", "", api.ReasonPackNotFound}, {api.PackCrypto, "nobody", api.ReasonInvalidRequest}} {
		if _, err := o.Preview(t.Context(), c.pack, c.writer); api.AsError(err).Reason != c.want {
			t.Errorf("%q by %q: %v", c.pack, c.writer, err)
		}
	}
	b, _ := o.Of(t.Context(), o.owner, api.TierPro, o.edition)
	if past, err := o.history.Briefs(t.Context(), api.PackCrypto, 9); err != nil || len(past) != 1 || b.Text != ofPack {
		t.Errorf("a preview was published: %+v, %v", past, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	o := build(t, func(c *brief.EditorConfig) { c.Limit = brief.Limit{Tokens: 99} })
	if err := o.store.CorrectWriting(t.Context(), "2026-11-20", brief.Usage{InputTokens: 5, OutputTokens: 6, CostMicros: 7}); err != nil {
		t.Fatal(err)
	}
	r, err := o.Check(t.Context(), api.PackCrypto)
	if err != nil || len(r.Findings) != 0 || r.Unknown != "" || !slices.Equal(r.Writers, []string{"test/model", "built-in"}) ||
		r.Taken != (brief.Usage{InputTokens: 5, OutputTokens: 6, CostMicros: 7}) || r.Limit.Tokens != 99 || r.Day != "2026-11-20" {
		t.Errorf("report %+v, %v", r, err)
	}
	wrong := state.Brief{Text: "All is at $5,000 [1].", At: born().Add(time.Minute), Writer: "x", Of: born(), Refused: "one\ntwo"}
	if _, err := o.history.SaveBrief(t.Context(), api.PackCrypto, wrong); err != nil {
		t.Fatal(err)
	}
	r, err = o.Check(t.Context(), api.PackCrypto)
	if err != nil || len(r.Findings) != 1 || len(r.Briefs) != 2 || !slices.Equal(r.Briefs[0].Refused, []string{"one", "two"}) || r.Briefs[0].Writer != "x" {
		t.Errorf("report %+v, %v", r, err)
	}
	wrong.Of = born().Add(-time.Hour)
	if _, err := o.history.SaveBrief(t.Context(), api.PackCrypto, wrong); err != nil {
		t.Fatal(err)
	}
	if r, err := o.Check(t.Context(), api.PackCrypto); err != nil || r.Unknown == "" || len(r.Findings) != 0 {
		t.Errorf("without its state: %+v, %v", r, err)
	}
	if _, err := o.Check(t.Context(), "no-such-pack"); api.AsError(err).Reason != api.ReasonPackNotFound {
		t.Errorf("unknown pack: %v", err)
	}
}
