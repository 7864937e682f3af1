package tui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// updating reports whether to rewrite the golden views: go test ./tui -update. The flag is that of teatest.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	daemontest.Overlap(8)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/x/exp/teatest.NewTestModel.func2"), // which waits for an interrupt
		goleak.IgnoreAnyFunction("github.com/charmbracelet/bubbletea.Tick.func1"),                // which ends within its second
		goleak.IgnoreAnyFunction("github.com/charmbracelet/bubbletea.(*Program).execBatchMsg"),   // which waits for that
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"), // of every program with a chain
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))         // which ends within its second
}

// began is when everything in these tests happens.
func began() time.Time { return time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC) }

// state is the state of the crypto pack that ctx is tested with too.
func state(t testing.TB) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../client/testdata/crypto_state.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

// moved is that state with BTC dearer and SOL cheaper.
func moved(t testing.TB) json.RawMessage {
	t.Helper()
	s := string(state(t))
	for old, now := range map[string]string{`"priceUsd":91442.9`: `"priceUsd":91500.1`, `"priceUsd":148.249`: `"priceUsd":147.9`} {
		if !strings.Contains(s, old) {
			t.Fatalf("the state has no %s", old)
		}
		s = strings.Replace(s, old, now, 1)
	}
	return json.RawMessage(s)
}

// fake is a service with fixed answers, an account and a stream that a test feeds. It stands for what has its own tests in sdk and
// daemon, where a test needs answers that never differ.
type fake struct {
	events  chan any            // sdk.Event, sdk.Connection, error
	beside  map[string]chan any // those of packs that are shown beside another
	reading sync.Mutex          // held by the stream that takes them: an old one takes none of those of the next

	mu       sync.Mutex // guards what follows
	keys     []api.APIKeyRow
	asked    []string
	brief    *api.BriefResponse
	snapshot func(at time.Time) (*api.StateResponse, error)
	fail     error
	past     map[string]*api.SeriesResponse // of members
	named    bool                           // purchases are named by their nonce alone
	deposits chan *api.Deposit              // how purchases end
}

// newFake makes a service that has a brief and two keys.
func newFake() *fake {
	at := began()
	used := at.Add(-3 * time.Hour)
	revoked := at.Add(-48 * time.Hour)
	return &fake{
		events:   make(chan any, 16),
		beside:   map[string]chan any{},
		deposits: make(chan *api.Deposit, 1),
		keys: []api.APIKeyRow{
			{KeyID: "cv_test_ab12cd34", Name: "my-agent", Tier: api.TierPro, CreatedAt: revoked, LastUsedAt: &used},
			{KeyID: "cv_test_99887766", Name: "old laptop", Tier: api.TierFree, CreatedAt: revoked, RevokedAt: &revoked},
		},
		brief: told(),
	}
}

// told is the brief that comes with the states.
func told() *api.BriefResponse {
	at := began()
	used := at.Add(-3 * time.Hour)
	return &api.BriefResponse{
		Brief:   "Bitcoin trades at $91,443, down 1.62% in 24 hours [1], while “Ethereum” lost 2.85% [1]. The Fear & Greed Index stands at 24, extreme fear [10].\n\nNothing else of note.",
		BriefAt: &used, Freshness: api.Freshness{GeneratedAt: at.Add(-42 * time.Second), AgeSeconds: 42},
		Citations: []api.Citation{
			{Ref: 1, SourceID: "coingecko-markets", URL: "https://www.coingecko.com/", FetchedAt: at.Add(-time.Minute)},
			{Ref: 2, SourceID: "coingecko-trending", URL: "javascript:alert(1)", FetchedAt: at.Add(-time.Hour)},
			{Ref: 10, SourceID: "alternativeme-fng", URL: "https://alternative.me/crypto/fear-and-greed-index/", FetchedAt: at.Add(-4 * time.Hour)},
		},
	}
}

// note counts a call and returns the error that calls are to fail with.
func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	return f.fail
}

// calls are the calls whose text begins so.
func (f *fake) calls(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

func (f *fake) Brief(_ context.Context, pack string, _ ...sdk.CallOption) (*api.BriefResponse, error) {
	err := f.note("brief %s", pack)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.brief, err
}

func (f *fake) Search(_ context.Context, r sdk.SearchRequest, _ ...sdk.CallOption) (*api.SearchResponse, error) {
	return &api.SearchResponse{Total: 5, Freshness: api.Freshness{GeneratedAt: began().Add(-42 * time.Second), AgeSeconds: 42}, Matches: []api.SearchMatch{
		{Path: "top_movers[0].id", Value: json.RawMessage(`"bitcoin"`), Score: api.ScoreWord},
		{Path: "top_movers[0].priceUsd", Value: json.RawMessage(`91442.90`), Score: api.ScoreWord},
		{Path: "trending_pools[3].pair", Value: json.RawMessage(`"WBITCOIN / <USDC>\u001b[31m"`), Score: api.ScoreSubstring},
	}}, f.note("search %s", r.Query)
}

func (f *fake) Snapshot(_ context.Context, pack string, at time.Time, _ ...sdk.CallOption) (*api.StateResponse, error) {
	if err := f.note("snapshot %s %s", pack, at.Format(time.RFC3339)); err != nil {
		return nil, err
	}
	return f.snapshot(at)
}

// Lookup knows Bitcoin, and something that is near of what it does not know.
func (f *fake) Lookup(_ context.Context, r sdk.LookupRequest, _ ...sdk.CallOption) (*api.LookupResponse, error) {
	if err := f.note("lookup %s %s", r.Pack, strings.Join(r.Questions, ",")); err != nil {
		return nil, err
	}
	found := &api.LookupResponse{Freshness: api.Freshness{GeneratedAt: began().Add(-42 * time.Second), AgeSeconds: 42},
		Citations: []api.AnchoredCitation{{Ref: api.Anchor{Ref: 1}, Citation: api.Citation{SourceID: "coingecko-markets", URL: "https://www.coingecko.com/"}}}}
	for _, q := range r.Questions {
		result := api.LookupResult{Q: q}
		if strings.HasPrefix(q, "b") {
			result.Rows = []api.LookupRow{{Kind: "asset", Key: "bitcoin", Name: "Bitcoin\x1b[31m", Symbol: "BTC", Asked: []string{"priceUsd"}, Ref: api.Anchor{Ref: 1}, URL: "https://www.coingecko.com/en/coins/bitcoin",
				FetchedAt: began().Add(-time.Minute), Fields: api.Fields{{Name: "priceUsd", Value: 91442.9}, {Name: "change1hPct", Value: 0.54}, {Name: "change24hPct", Value: -1.62}, {Name: "rank", Value: 1.0}}}}
		} else {
			result.Near = []string{"near", "nearer"}
		}
		found.Results = append(found.Results, result)
	}
	return found, nil
}

// Series is an hour before began in which everything rose by a hundredth and fell back by half of it.
func (f *fake) Series(_ context.Context, r sdk.SeriesRequest, _ ...sdk.CallOption) (*api.SeriesResponse, error) {
	if err := f.note("series %s %s %s", r.Pack, r.Path, r.Span); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.past[r.Path] == nil {
		return nil, &api.Error{Status: 400, Code: api.CodeValidation, Reason: api.ReasonInvalidPath}
	}
	return f.past[r.Path], nil
}

func (f *fake) CreateWatch(_ context.Context, r api.WatchRequest, _ ...sdk.CallOption) (*api.Watch, error) {
	return &api.Watch{ID: "wch_1"}, f.note("watch %s %s", r.Type, r.Arguments)
}

func (f *fake) Keys(context.Context, ...sdk.CallOption) ([]api.APIKeyRow, error) {
	err := f.note("keys")
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]api.APIKeyRow(nil), f.keys...), err
}

func (f *fake) CreateKey(_ context.Context, name string, _ api.TraceConsent, _ ...sdk.CallOption) (*api.IssuedKey, error) {
	if err := f.note("create %s", name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append([]api.APIKeyRow{{KeyID: "cv_test_newnewne", Name: name, Tier: api.TierPro, CreatedAt: began()}}, f.keys...)
	return &api.IssuedKey{Key: "cv_test_newnewneSECRETSECRETSECRETSECRET", KeyID: "cv_test_newnewne", Name: name, Tier: api.TierPro}, nil
}

func (f *fake) RevokeKey(_ context.Context, id string, _ ...sdk.CallOption) (*api.RevokeResponse, error) {
	return &api.RevokeResponse{OK: true, RevokedAt: began(), StrandedCredits: 7}, f.note("revoke %s", id)
}

func (f *fake) Balance(context.Context, string, ...sdk.CallOption) (*api.CreditBalanceResponse, error) {
	return &api.CreditBalanceResponse{Balance: 84201, KeyCount: 1}, f.note("balance")
}

// purchase is the purchase that the service sells.
func purchase() *api.DepositIntent {
	return &api.DepositIntent{ID: "dep_1", Recipient: "0x" + strings.Repeat("ab", 20), AmountUSDC: "8.000317", ExpiresAt: began().Add(30 * time.Minute).Unix(),
		PaymentURI: "ethereum:0x" + strings.Repeat("cd", 20) + "@46630/transfer?address=0x" + strings.Repeat("ab", 20) + "&uint256=8000317",
		ChainID:    46630, Token: "0x" + strings.Repeat("cd", 20)}
}

// settled is that purchase at its end.
func settled(status api.DepositStatus) *api.Deposit {
	hash, payer := "0x"+strings.Repeat("12", 32), "0x"+strings.Repeat("ef", 20)
	d := &api.Deposit{ID: "dep_1", Pack: api.CreditHobby, Credits: 10_000, AmountUSDC: "8.000317", Status: status}
	if status == api.DepositVerified {
		d.TxHash, d.PayerAddress = &hash, &payer
	}
	return d
}

func (f *fake) Buy(_ context.Context, pack api.CreditPack, keyID string, _ ...sdk.CallOption) (*api.DepositIntent, error) {
	p := purchase()
	if f.named {
		p.NonceRequired, p.PaymentURI = true, ""
	}
	return p, f.note("buy %s %s", pack, keyID)
}

func (f *fake) Deposit(_ context.Context, id, tx string, _ ...sdk.CallOption) (*api.Deposit, error) {
	d := settled(api.DepositPending)
	if f.named {
		d.Reason, d.Message = api.ReasonNonceMismatch, "it does not carry the nonce"
	}
	return d, f.note("look %s %s", id, tx)
}

func (f *fake) AwaitDeposit(ctx context.Context, id, _ string, _ ...sdk.CallOption) (*api.Deposit, error) {
	if err := f.note("await %s", id); err != nil {
		return nil, err
	}
	select {
	case d := <-f.deposits:
		return d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pay is the wallet.
func (f *fake) pay(_ context.Context, i *api.DepositIntent) (*api.Deposit, error) {
	return settled(api.DepositVerified), f.note("pay %s", i.AmountUSDC)
}

func (f *fake) Usage(_ context.Context, days int, _ ...sdk.CallOption) (*api.UsageResponse, error) {
	return &api.UsageResponse{Days: []api.UsageRow{
		{Day: "2026-11-20", KeyID: "cv_test_ab12cd34", Op: api.OpSearch, Calls: 41}, {Day: "2026-11-20", KeyID: "cv_test_ab12cd34", Op: api.OpFresh, Calls: 1200},
		{Day: "2026-11-19", KeyID: "cv_test_ab12cd34", Op: api.OpBrief, Calls: 300},
	}}, f.note("usage %d", days)
}

// expect has a pack shown beside another, whose events the test feeds.
func (f *fake) expect(pack string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beside[pack] = make(chan any, 16)
}

// stream yields what the test feeds, until it feeds an error or ends.
func (f *fake) stream(ctx context.Context, pack string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		f.mu.Lock()
		events := f.beside[pack]
		f.mu.Unlock()
		if events == nil {
			events = f.events
			f.reading.Lock()
			defer f.reading.Unlock()
		}
		_ = f.note("subscribe %s", pack)
		defer func() { _ = f.note("left %s", pack) }()
		for {
			select {
			case <-ctx.Done():
				return
			case item := <-events:
				switch item := item.(type) {
				case sdk.Connection:
					told(item)
				case error:
					yield(sdk.Event{}, item)
					return
				case sdk.Event:
					if !yield(item, nil) {
						return
					}
				}
			}
		}
	}
}

// delta is a state of the stream, made so long before began.
func delta(state json.RawMessage, before time.Duration) sdk.Event {
	b := told()
	return sdk.Event{Type: api.EventDelta, State: api.StreamState{Pack: api.PackCrypto, State: state, TS: began().Add(-before),
		Brief: b.Brief, BriefAt: b.BriefAt, Citations: b.Citations}}
}

// pasts are the last day of the members of a state: each row as a wave of its own that ends where the state has it.
func pasts(t testing.TB, doc json.RawMessage, mains map[string]string) map[string]*api.SeriesResponse {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		t.Fatal(err)
	}
	list := map[string]*api.SeriesResponse{}
	const points = 49
	for member, field := range mains {
		var rows []map[string]any
		if err := json.Unmarshal(members[member], &rows); err != nil {
			t.Fatal(err)
		}
		past := &api.SeriesResponse{Path: member, Span: "24h"}
		for i := range points {
			past.Times = append(past.Times, began().Add(-time.Minute-time.Duration(points-1-i)*30*time.Minute))
		}
		for n, row := range rows {
			last, is := row[field].(float64)
			if !is {
				continue
			}
			r := api.SeriesRow{Kind: "kind", Key: fmt.Sprint(row["id"]), Field: field}
			for i := range points {
				x := float64(points - 1 - i)
				v := last * (1 + 0.02*math.Sin(x/(4+float64(n)))*float64(n%3-1) + 0.0004*x*float64(n%2*2-1))
				r.Values = append(r.Values, &v)
			}
			past.Rows = append(past.Rows, r)
		}
		list[member] = past
	}
	return list
}

// cryptoPasts are those of the crypto pack.
func cryptoPasts(t testing.TB) map[string]*api.SeriesResponse {
	t.Helper()
	return pasts(t, state(t), map[string]string{"top_movers": "priceUsd", "protocol_tvl": "tvlUsd", "trending_pools": "priceUsd", "narratives": "marketCapUsd"})
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass lets time go by.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// written keeps what is written to it, by whichever goroutine.
type written struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// take empties it and returns what was in it.
func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.text.Reset()
	return w.text.String()
}

// program is the program without its terminal: a model whose commands are run, and a test that presses keys and looks.
type program struct {
	t     testing.TB
	model *tui.Program
	fake  *fake
	clock *clock
	out   *written // what is written to the terminal beside the views

	ctx   context.Context
	msgs  chan tea.Msg
	quit  bool
	owner bool // somebody is signed in
}

// start starts the program at a size, with changes to its Config.
func start(t testing.TB, width, height int, changes ...func(*tui.Config)) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &program{t: t, fake: newFake(), clock: &clock{now: began()}, out: &written{}, ctx: ctx, msgs: make(chan tea.Msg, 256)}
	c := tui.Config{Stream: d.fake.stream, Service: d.fake, Account: d.fake, Seller: d.fake, Pay: d.fake.pay, KeyID: "cv_test_ab12cd34", Pack: api.PackCrypto, Where: "prod", Theme: view.Plain,
		Now: d.clock.Now, Env: func(string) string { return "" }, Out: d.out, SaveDir: t.TempDir(),
		Browse: func(_ context.Context, url string) error { return d.fake.note("browse %s", url) }}
	for _, change := range changes {
		change(&c)
	}
	d.model, d.owner = tui.New(ctx, c), c.Account != nil
	t.Cleanup(cancel) // ends all but a tick, which ends within its second
	d.apply(tea.WindowSizeMsg{Width: width, Height: height})
	d.run(d.model.Init())
	return d
}

// live is start, connected and with all that comes at the start.
func live(t testing.TB, width, height int, changes ...func(*tui.Config)) *program {
	t.Helper()
	d := start(t, 120, 40, changes...)
	d.fake.mu.Lock()
	d.fake.past = cryptoPasts(t)
	d.fake.mu.Unlock()
	d.fake.events <- sdk.Connection{Connected: true, Demo: true}
	d.fake.events <- delta(state(t), 42*time.Second)
	d.shows("91,442.90")
	d.shows("Bitcoin trades at")
	d.trends()
	if d.owner {
		d.shows("84,201 cr")
	}
	d.apply(tea.WindowSizeMsg{Width: width, Height: height})
	return d
}

// paid is how many calls of op a view of the log tells of.
func paid(view string, op api.Op) (n int) {
	for _, m := range regexp.MustCompile(`(?:(\d+) times: )?1 credit for `+string(op)).FindAllStringSubmatch(ansi.Strip(view), -1) {
		times, _ := strconv.Atoi(m[1])
		n += max(times, 1)
	}
	return n
}

// trends has the past loaded.
func (d *program) trends() {
	d.t.Helper()
	d.press("H", "8")
	d.until("all trends", func(v string) bool { return paid(v, api.OpSeries) == len(d.fake.past) })
	d.press("1")
}

// run runs a command and takes what it finds.
func (d *program) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				d.run(c)
			}
		default:
			select {
			case d.msgs <- msg:
			case <-d.ctx.Done():
			}
		}
	}()
}

// apply gives a message to the model.
func (d *program) apply(msg tea.Msg) {
	if _, ok := msg.(tea.QuitMsg); ok {
		d.quit = true
		return
	}
	_, cmd := d.model.Update(msg)
	d.run(cmd)
}

// until takes messages until the view is as wanted.
func (d *program) until(what string, ok func(view string) bool) {
	d.t.Helper()
	patience := time.After(2 * time.Minute)
	for !ok(d.view()) {
		select {
		case msg := <-d.msgs:
			d.apply(msg)
		case <-patience:
			d.t.Fatalf("never: %s\n%s", what, d.view())
		}
	}
}

// shows takes messages until the view holds text.
func (d *program) shows(text string) {
	d.t.Helper()
	d.until("view with "+text, func(v string) bool { return strings.Contains(v, text) })
}

// over goes over to another pack, until its stream is read.
func (d *program) over(pack string) {
	d.t.Helper()
	n := d.fake.calls("subscribe")
	d.press("1", "P", pack, "enter")
	d.until("stream of "+pack, func(string) bool { return d.fake.calls("subscribe") > n })
	d.shows("Waiting for the first state of pack " + pack)
}

// hides takes messages until the view does not hold text.
func (d *program) hides(text string) {
	d.t.Helper()
	d.until("view without "+text, func(v string) bool { return !strings.Contains(v, text) })
}

// view is what the terminal shows.
func (d *program) view() string { return d.model.View() }

// press presses keys: names as Bubble Tea has them, anything else letter by letter.
func (d *program) press(keys ...string) {
	d.t.Helper()
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"backspace": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC, "ctrl+d": tea.KeyCtrlD, "ctrl+u": tea.KeyCtrlU, "ctrl+l": tea.KeyCtrlL, "ctrl+s": tea.KeyCtrlS}
	for _, k := range keys {
		if kind, ok := named[k]; ok {
			d.apply(tea.KeyMsg{Type: kind})
			continue
		}
		for _, r := range k { // all at once, where the program has to be able to part them, is for the test in a terminal
			d.apply(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

// ofFile makes the program show a file in place of a service.
func ofFile(path string) func(*tui.Config) {
	return func(c *tui.Config) {
		c.Stream = session.PlayRecording(func() (io.ReadCloser, error) { return os.Open(path) }, time.Millisecond)
		c.Recording, c.Service, c.Account = true, nil, nil
	}
}
