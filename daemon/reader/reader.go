// Package reader answers the operations, free of transport: an api.Query in, an Answer or the exact *api.Error out.
//
// It reads the newest edition from daemon/feed and old states from history, and changes neither. Admission and charging are
// daemon/gate's; HTTP, streams and MCP are the transports'. Ready is the free check that comes before admission, Answer the
// work after it.
package reader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// History looks up old states.
type History interface {
	// PulseBefore returns the newest pulse of pack with GeneratedAt before t, or state.ErrNoPulse.
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
	// Earliest returns when the oldest pulse of pack was made, or state.ErrNoPulse.
	Earliest(ctx context.Context, pack string) (time.Time, error)
	// Past yields for each of times, which rise, the newest pulse of pack at or before it, without citations, zero where there is none.
	// An error ends it.
	Past(ctx context.Context, pack string, times iter.Seq[time.Time]) iter.Seq2[state.Pulse, error]
}

// Briefs has the briefs that owners get by prompts of their own, and knows the writers of all.
type Briefs interface {
	// Of returns the brief of an owner about edition. warning says why it is not by their prompt, "" where they have none.
	Of(ctx context.Context, ownerID string, tier api.Tier, edition *feed.Edition) (b state.Narration, warning string)
	// Claims lists what backs the figures of a brief about a state.
	Claims(ctx context.Context, told state.Brief, of state.Pulse) ([]ground.Claim, error)
}

// Answer is what an operation answers: a body whose age is measured when it is written, or finished JSON.
type Answer struct {
	Body      *feed.Body      // fresh, brief and snapshot
	At        time.Time       // the moment at which Body's age is measured; zero means when it is written
	JSON      []byte          // the others
	Immutable bool            // the same for ever
	Warning   string          // why it is not all that the caller could expect, "" if it is
	Nothing   bool            // nothing was found, which costs a key nothing
	Searched  *state.Document // search: the state in which it looked
	Proof     api.Proof       // fresh, brief and snapshot: the leaf that proves it; zero where there is none
}

// ReadAt is the moment at which the age in a is measured, for who reads it now.
func (a Answer) ReadAt(now time.Time) time.Time {
	if a.At.IsZero() {
		return now
	}
	return a.At
}

// Text is a as JSON, for who reads it now. The caller must not change it.
func (a Answer) Text(now time.Time) []byte {
	if a.Body == nil {
		return a.JSON
	}
	return a.Body.Bytes(a.ReadAt(now))
}

// Pack is a pack that is served.
type Pack struct {
	ID      string
	Names   map[string]string // of its sources, by their ids
	Notices []string          // what its sources prescribe to be told, before a payment and with the data
	Shown   []state.Shown     // what of it has a past, and can change
}

// Config is what a Reader needs.
type Config struct {
	Packs   []Pack
	Feed    *feed.Feed
	History History
	Leaves  Leaves                               // nil means that none are told of briefs that were given before
	Briefs  Briefs                               // nil means that all get the pack's
	Trouble func(pack string) []api.SourceStatus // how the sources of a pack without a state do; nil means not known
	Now     func() time.Time                     // nil means time.Now

	Sign func(log, leaf, basis string) ([]byte, error) // signs the basis of a check for a leaf; nil means that none is given
}

// Reader answers operations. Make one with New; it is safe for concurrent use.
type Reader struct {
	cfg     Config
	packs   atomic.Pointer[[]Pack]
	checked atomic.Pointer[checked] // the last
}

// New makes a Reader.
func New(cfg Config) *Reader {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Reader{cfg: cfg}
	r.SetPacks(cfg.Packs)
	return r
}

// SetPacks changes the packs that are served, from the next call on.
func (r *Reader) SetPacks(packs []Pack) { r.packs.Store(&packs) }

// pack is the pack of an id, if it is served.
func (r *Reader) pack(id string) (p Pack, served bool) {
	packs := *r.packs.Load()
	i := slices.IndexFunc(packs, func(p Pack) bool { return p.ID == id })
	if i < 0 {
		return Pack{}, false
	}
	return packs[i], true
}

// View is a query that passed the free checks, tied to the edition it will be answered from.
type View struct {
	api.Query
	pack    Pack
	edition *feed.Edition
	queried []asked // of a lookup or query, the packs that it is about, and what it comes to in each
	ownerID string  // of the caller's key, "" if they have none
	tier    api.Tier
	asOf    time.Time // see AsOf

	everywhere bool // see Everywhere
}

// Notices are what those are told who are asked to pay for v.
func (r *Reader) Notices(pack string) []string {
	var list []string
	for _, p := range *r.packs.Load() {
		if p.ID == pack || pack == api.PackAll {
			list = append(list, p.Notices...)
		}
	}
	return list
}

// Everywhere is v as asked by a caller who may read every pack, or the default one alone.
func (v View) Everywhere(may bool) View {
	v.everywhere = may
	return v
}

// By is v as asked by the owner of a key of the given tier.
func (v View) By(ownerID string, tier api.Tier) View {
	v.ownerID = ownerID
	v.tier = tier
	return v
}

// AsOf is v with history's window counted from the moment t, at which v was offered to the caller; the zero time means now.
func (v View) AsOf(t time.Time) View {
	v.asOf = t
	return v
}

// Ready makes the checks that cost nothing: the pack is registered, its state is there, and so is what the operation needs.
func (r *Reader) Ready(q api.Query) (View, error) {
	if q.At.Ago > 0 {
		q.At.At, q.At.Exact = r.cfg.Now().Add(-q.At.Ago).UTC().Truncate(time.Millisecond), true
	}
	p, served := r.pack(q.Pack)
	switch {
	case !served && (q.Pack != api.PackAll || !q.Op.Operation().AnyPack):
		return View{}, r.notServed(q.Pack)
	case q.Op == api.OpQuery:
		return r.readyQuery(q)
	case q.Op == api.OpLookup:
		return r.readyLookup(q)
	case q.Op == api.OpCheck:
		if err := readyCheck(q); err != nil {
			return View{}, err
		}
	case q.Op == api.OpSeries:
		if err := state.CheckSeries(p.Shown, q.Path, q.Field); err != nil {
			return View{}, err
		}
	}
	edition, err := r.latest(p)
	if err != nil {
		return View{}, err
	}
	if q.Op == api.OpBrief && edition.Brief.Text == "" {
		return View{}, api.Errorf(api.ReasonBriefUnavailable, "pack %s has no brief yet", p.ID).
			WithHint("try again in a few seconds; fresh has the state already").WithRetryAfter(api.StateUnavailableRetry * time.Second)
	}
	if err := hasMembers(edition, q); err != nil {
		return View{}, err
	}
	if err := suits(q, edition.Rows.Kinds()); err != nil {
		return View{}, err
	}
	view := View{Query: q, pack: p, edition: edition}
	if q.Op == api.OpHistory {
		return r.ranged(view)
	}
	return view, nil
}

// notServed is the error for a pack that is not.
func (r *Reader) notServed(pack string) error {
	return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", pack).
		WithHint("packs served: %s", strings.Join(r.Packs(), ", "))
}

// latest is the newest edition of p.
func (r *Reader) latest(p Pack) (*feed.Edition, error) {
	edition, _ := r.cfg.Feed.Latest(p.ID)
	if edition != nil {
		return edition, nil
	}
	err := api.Errorf(api.ReasonStateUnavailable, "pack %s has no state yet", p.ID).
		WithHint("try again in a few seconds").WithRetryAfter(api.StateUnavailableRetry * time.Second)
	if r.cfg.Trouble != nil {
		err.SourceStatus = r.cfg.Trouble(p.ID)
	}
	return nil, err
}

// suits returns the error for a kind of rows that q names and that is not among kinds.
func suits(q api.Query, kinds []string) error {
	switch {
	case q.Op == api.OpLookup && q.Kinds != "" && !slices.Contains(kinds, q.Kinds):
		return unknownKind(q.Pack, q.Kinds, kinds)
	case q.Op == api.OpChanges && q.Kinds != "":
		for kind := range strings.SplitSeq(q.Kinds, ",") {
			if !slices.Contains(kinds, kind) {
				return unknownKind(q.Pack, kind, kinds)
			}
		}
	}
	return nil
}

// hasMembers reports a member that q names and the state of edition has not.
func hasMembers(edition *feed.Edition, q api.Query) error {
	if q.Members == "" {
		return nil
	}
	there := edition.Doc.Names()
	for name := range strings.SplitSeq(q.Members, ",") {
		if !slices.Contains(there, name) {
			return api.Errorf(api.ReasonInvalidMembers, "the state of pack %s has no member %q", q.Pack, human.Clip(name, human.Quoted)).
				WithHint("members: %s; leave it out for all", strings.Join(there, ", "))
		}
	}
	return nil
}

func unknownKind(pack, kind string, kinds []string) error {
	return api.Errorf(api.ReasonInvalidKind, "pack %s has no rows of kind %q", pack, human.Clip(kind, human.Quoted)).
		WithHint("kinds: %s", strings.Join(kinds, ", "))
}

// Packs returns the ids of the packs served, in the order they were configured.
func (r *Reader) Packs() []string {
	var ids []string
	for _, p := range *r.packs.Load() {
		ids = append(ids, p.ID)
	}
	return ids
}

// Answer resolves v for a caller who may read history as far back as window.
func (r *Reader) Answer(ctx context.Context, v View, window time.Duration) (Answer, error) {
	switch v.Op {
	case api.OpFresh:
		return r.fresh(ctx, v)
	case api.OpBrief:
		return r.brief(ctx, v)
	case api.OpSearch:
		return r.search(v)
	case api.OpSnapshot:
		return r.snapshot(ctx, v, window)
	case api.OpCite:
		return r.cite(ctx, v, window)
	case api.OpLookup:
		return r.lookup(ctx, v, window)
	case api.OpChanges:
		return r.changes(ctx, v, window)
	case api.OpSeries:
		return r.series(ctx, v, window)
	case api.OpQuery:
		return r.query(ctx, v, window)
	case api.OpCheck:
		return r.check(ctx, v, window)
	}
	return Answer{}, fmt.Errorf("operation %q has no answer", v.Op)
}

// Deliverable returns the error that Answer would return for what v asks, at the cost of a look at an index. Damage to what is stored
// shows in Answer alone.
func (r *Reader) Deliverable(ctx context.Context, v View, window time.Duration) error {
	switch v.Op {
	case api.OpSnapshot, api.OpChanges:
		if err := r.reach(ctx, v, window); err != nil {
			return err
		}
		switch first, err := r.cfg.History.Earliest(ctx, v.pack.ID); {
		case errors.Is(err, state.ErrNoPulse) || err == nil && !first.Before(v.At.End()):
			return r.noneYet(ctx, v, window)
		case err != nil:
			return fmt.Errorf("look for %s as of %s: %w", v.pack.ID, v.At.Key(), err)
		}
	case api.OpCite:
		_, err := r.cite(ctx, v, window)
		return err
	case api.OpLookup:
		return r.findable(ctx, v, window)
	case api.OpSeries:
		return r.spanned(ctx, v, window)
	case api.OpQuery:
		return r.anyRow(ctx, v, window)
	case api.OpCheck:
		return r.anyJudged(ctx, v, window)
	}
	return nil
}

// search looks for v.Text in the leaves of the newest state.
func (r *Reader) search(v View) (Answer, error) {
	found := v.edition.Doc.Table().Search(v.Text, v.Limit)
	a, err := encode(api.SearchResponse{
		Matches: found.Matches, Total: found.Total, Notices: v.pack.Notices, Freshness: v.edition.Freshness(r.cfg.Now()),
	})
	a.Searched = v.edition.Doc
	return a, err
}

// snapshot looks up the state as of v.At, within the window of the caller. The answer depends on that moment and the members alone, so that
// it is the same for ever.
func (r *Reader) snapshot(ctx context.Context, v View, window time.Duration) (Answer, error) {
	pulse, err := r.past(ctx, v, window)
	if err != nil {
		return Answer{}, err
	}
	pulse.Doc = pulse.Read()
	ages := pulse.Doc.Ages().Updated(nil, v.pack.Names)
	pulse.Health, pulse.State = &ages, pulse.Doc.Part(v.Members)
	body, err := feed.FreshBody(pulse, state.Narration{})
	if err != nil {
		return Answer{}, fmt.Errorf("encode %s as of %s: %w", v.pack.ID, v.At.Key(), err)
	}
	return Answer{Body: body, At: v.At.End(), Immutable: true, Proof: proven(v.Query, pulse.Proof)}, nil
}

// past is the newest state as of v.At, if that is over and within the window of the caller.
func (r *Reader) past(ctx context.Context, v View, window time.Duration) (state.Pulse, error) {
	if err := r.reach(ctx, v, window); err != nil {
		return state.Pulse{}, err
	}
	pulse, err := r.cfg.History.PulseBefore(ctx, v.pack.ID, v.At.End())
	if errors.Is(err, state.ErrNoPulse) {
		return state.Pulse{}, r.noneYet(ctx, v, window)
	}
	if err != nil {
		return state.Pulse{}, fmt.Errorf("look up %s as of %s: %w", v.pack.ID, v.At.Key(), err)
	}
	return pulse, nil
}

// changes compares the newest state with the one as of v.At.
func (r *Reader) changes(ctx context.Context, v View, window time.Duration) (Answer, error) {
	pulse, err := r.past(ctx, v, window)
	if err != nil {
		return Answer{}, err
	}
	if pulse.GeneratedAt.After(v.edition.GeneratedAt) { // it was published while v was asked
		pulse = v.edition.Pulse
	}
	ask := state.Ask{Min: v.Min}
	if v.Kinds != "" {
		ask.Kinds = strings.Split(v.Kinds, ",")
	}
	answer := state.Compare(pulse, v.edition.Pulse, v.pack.Shown, v.edition.Rows, ask)
	answer.Since, answer.Freshness = v.At.At, v.edition.Freshness(r.cfg.Now())
	if len(answer.Citations) > 0 {
		answer.Freshness.Provenance = api.LowestProvenance(answer.Citations)
	}
	return encode(answer)
}

// reach returns the error for a moment that is not over, or lies beyond the window of the caller.
func (r *Reader) reach(ctx context.Context, v View, window time.Duration) error {
	now, end := r.cfg.Now(), v.At.End()
	what := "the minute " + v.At.Key()
	if v.At.Exact {
		what = "the moment " + v.At.Key()
	}
	if end.After(now) {
		return api.Errorf(api.ReasonSnapshotNotFound, "%s is not over yet", what).
			WithHint("ask after %s, or for an earlier one; %s", end.UTC().Format(time.RFC3339), r.earliest(ctx, v, window))
	}
	if !v.asOf.IsZero() {
		now = v.asOf
	}
	if v.At.At.Before(now.Add(-window)) && (v.At.Ago == 0 || v.At.Ago > window) { // a span was counted a moment before now
		return api.Errorf(api.ReasonSnapshotNotFound, "%s is more than %s ago, beyond the window of this caller", what, days(window)).
			WithHint("%s", r.earliest(ctx, v, window))
	}
	return nil
}

// noneYet is the answer for a moment before the first state of the pack, or before the first that may be served.
func (r *Reader) noneYet(ctx context.Context, v View, window time.Duration) error {
	return r.noneAt(ctx, v, v.At.End(), v.At.Key(), window)
}

func (r *Reader) noneAt(ctx context.Context, v View, end time.Time, key string, window time.Duration) error {
	why := fmt.Sprintf("pack %s had no state yet at %s", v.pack.ID, key)
	if _, err := r.cfg.History.PulseBefore(ctx, v.pack.ID, end); errors.Is(err, state.ErrWithheld) {
		why = fmt.Sprintf("the state of pack %s at %s has data in it that this service may not sell", v.pack.ID, key)
	}
	return api.Errorf(api.ReasonSnapshotNotFound, "%s", why).
		WithHint("%s", r.earliest(ctx, v, window))
}

// earliest tells the earliest minute that a caller with a window may ask for.
func (r *Reader) earliest(ctx context.Context, v View, window time.Duration) string {
	oldest := api.Minute(r.cfg.Now().Add(time.Minute - 1 - window))
	switch first, err := r.cfg.History.Earliest(ctx, v.pack.ID); {
	case err != nil:
		return "there is no earlier state"
	case first.After(oldest.At):
		oldest = api.Minute(first)
	}
	return "the earliest minute for this caller is " + oldest.Key()
}

func days(window time.Duration) string {
	if window <= 24*time.Hour {
		return fmt.Sprintf("%d hours", int(window/time.Hour))
	}
	return fmt.Sprintf("%d days", int(window/(24*time.Hour)))
}

func encode(v any) (Answer, error) {
	text, err := jsonx.Encode(v)
	if err != nil {
		return Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return Answer{JSON: text}, nil
}
