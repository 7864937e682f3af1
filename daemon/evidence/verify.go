package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// History is what states and leaves are read from; *history.History is one.
type History interface {
	LogHead(ctx context.Context, pack string) (api.LogHead, error)
	LogBundle(ctx context.Context, origin string, n int64) ([]byte, error)
	LogBefore(ctx context.Context, origin string, t time.Time) (seq int64, ok bool, err error)
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
}

// Verifier recomputes states of a pack.
type Verifier struct {
	Pack    *pack.Pack
	Writer  brief.Writer // of its brief by rules; nil means brief.BuiltIn
	History History
	Store   Bodies

	left []Left // sources that are not in the file
}

// Bodies are what is kept of what sources answered; *Store is one.
type Bodies interface {
	// Text is what is kept under a hash, which it has; or ErrGone, or ErrChanged.
	Text(hash string) ([]byte, error)
	// Fetch is that which brought a document of a source, in the attempt that began at a time.
	Fetch(pack, id, doc string, at time.Time) (Fetch, bool)
}

// What was found of a part.
const (
	Equal   = "equal"
	Differs = "differs"
	Unkept  = "not_kept" // and so nothing can be said
)

// Report is what was found of a state.
type Report struct {
	Pack        string         `json:"pack"`
	Log         string         `json:"log"`
	Seq         int64          `json:"seq"`
	GeneratedAt time.Time      `json:"generatedAt"`
	Leaf        string         `json:"leaf"`    // its hash, as ctx verify shows it
	Code        string         `json:"code"`    // that made it
	Program     string         `json:"program"` // that made it again
	Arch        string         `json:"arch"`
	Manifest    string         `json:"manifest"` // whether the pack is the one that it was made by
	Sources     []SourceReport `json:"sources"`
	State       string         `json:"state"`
	Tables      string         `json:"tables"` // all rows behind the state, as the leaf has their hash
	Brief       string         `json:"brief"`  // by rules
	Rows        []RowReport    `json:"rows"`
	Problems    []string       `json:"problems"`
}

// SourceReport is what was found of a source.
type SourceReport struct {
	ID   string `json:"id"`
	Doc  string `json:"doc"`  // whether the document is the one of the leaf
	Body string `json:"body"` // whether its bodies make that document
	Why  string `json:"why,omitempty"`
}

// RowReport is what was found of a row of the state.
type RowReport struct {
	Row    string `json:"row"` // kind/key
	Path   string `json:"path"`
	Source string `json:"source,omitempty"` // that it names
	Found  string `json:"found"`
	raw    []byte // as it was said
}

// At is the place of the leaf of the newest state at a time.
func (v Verifier) At(ctx context.Context, at time.Time) (int64, error) {
	head, err := v.head(ctx)
	if err != nil {
		return 0, err
	}
	seq, ok, err := v.History.LogBefore(ctx, head.Origin, at)
	if err == nil && !ok {
		err = api.Errorf(api.ReasonNotFound, "the log of %s has no state at %s", v.Pack.ID, at.UTC().Format(time.RFC3339))
	}
	return seq, err
}

func (v Verifier) head(ctx context.Context) (api.LogHead, error) {
	head, err := v.History.LogHead(ctx, v.Pack.ID)
	if err == nil && head.Size == 0 {
		err = api.Errorf(api.ReasonNotFound, "pack %s has no log", v.Pack.ID)
	}
	return head, err
}

func (v Verifier) leaf(ctx context.Context, head api.LogHead, seq int64) (text []byte, leaf api.LogLeaf, err error) {
	if seq < 0 || seq >= head.Size {
		return nil, leaf, api.Errorf(api.ReasonNotFound, "the log of %s has no leaf %d", v.Pack.ID, seq).
			WithHint("use a leaf from 0 to %d", head.Size-1)
	}
	bundle, err := v.History.LogBundle(ctx, head.Origin, seq/translog.Width)
	if err != nil {
		return nil, leaf, err
	}
	list, err := translog.Entries(bundle)
	if err != nil || int64(len(list)) <= seq%translog.Width {
		return nil, leaf, errors.Join(fmt.Errorf("leaf %d cannot be read", seq), err)
	}
	text = list[seq%translog.Width]
	if err := json.Unmarshal(text, &leaf); err != nil {
		return nil, leaf, fmt.Errorf("leaf %d: %w", seq, err)
	}
	if leaf.Kind != api.LeafState {
		return nil, leaf, api.Errorf(api.ReasonInvalidRequest, "leaf %d is of a brief that was written later", seq).
			WithHint("--seq with the leaf of a state")
	}
	return text, leaf, nil
}

// Verify recomputes the state of a leaf: the documents of its sources of their bodies, and the state of these and the one before.
func (v Verifier) Verify(ctx context.Context, seq int64) (*Report, error) {
	head, err := v.head(ctx)
	if err != nil {
		return nil, err
	}
	text, leaf, err := v.leaf(ctx, head, seq)
	if err != nil {
		return nil, err
	}
	return v.verify(ctx, head.Origin, text, leaf)
}

func (v Verifier) verify(ctx context.Context, origin string, text []byte, leaf api.LogLeaf) (*Report, error) {
	r := &Report{Pack: v.Pack.ID, Log: origin, Seq: leaf.Seq, GeneratedAt: leaf.GeneratedAt, Code: leaf.Code, Arch: leaf.Arch,
		Leaf: translog.LeafHash(text), Program: build.Code(), Manifest: found(leaf.Digest == v.Pack.Manifest),
		Sources: []SourceReport{}, Rows: []RowReport{}, Problems: []string{}}
	said, err := v.History.PulseBefore(ctx, v.Pack.ID, leaf.GeneratedAt.Add(time.Millisecond))
	if err != nil || Hash(said.State) != leaf.State {
		return nil, errors.Join(fmt.Errorf("the state of leaf %d is not kept as it was published", leaf.Seq), err)
	}
	if r.Manifest == Differs {
		r.problem("the pack is not the one that made the state: its manifest has another hash")
	}
	past := pipeline.Past{Made: leaf.GeneratedAt}
	absent := map[string]bool{}
	for _, s := range leaf.Sources {
		text := v.source(ctx, r, s)
		absent[s.ID] = text == nil
		past.Sources = append(past.Sources, pipeline.PastSource{SourceRecord: state.SourceRecord{
			Source: s.ID, Doc: text, Bodies: s.Bodies, AskedAt: s.At, From: s.From, FetchedAt: s.FetchedAt}})
	}
	r.State, r.Tables, r.Brief = Unkept, Unkept, Unkept
	r.place(v.Pack, said)
	if !slices.ContainsFunc(leaf.Sources, func(s api.LogSource) bool { return !absent[s.ID] }) {
		return r, nil
	}
	past.Sources = standing(past.Sources, said.Read().Sources())
	past.Prev, err = v.History.PulseBefore(ctx, v.Pack.ID, leaf.GeneratedAt)
	if err != nil && !errors.Is(err, state.ErrNoPulse) {
		return nil, err
	}
	cfg := pipeline.Config{Pack: v.Pack, Writer: v.Writer, Store: past0{v.History}, Every: time.Duration(leaf.Every * float64(time.Second))}
	made, _, own, err := pipeline.Recompute(ctx, cfg, past)
	if err != nil {
		r.problem("the state cannot be recomputed: " + err.Error())
		return r, nil
	}
	r.compareRows(v.Pack, made, absent)
	if !slices.ContainsFunc(leaf.Sources, func(s api.LogSource) bool { return absent[s.ID] }) {
		r.compare(leaf, made, own)
	}
	if len(r.Problems) > 0 && r.Code != r.Program {
		r.problem("another program made it: " + r.Code + "; this is " + r.Program)
	}
	return r, nil
}

// past0 is a history as Recompute reads it.
type past0 struct{ History }

func (past0) OpenPack(context.Context, string, time.Time) (state.Saved, error) {
	return state.Saved{}, errReadOnly
}

func (past0) Newer(context.Context, string, state.Mark) (state.News, error) {
	return state.News{}, errReadOnly
}

func (past0) SavePulse(context.Context, state.Pulse, state.Brief, []state.SourceRecord) (api.Proof, error) {
	return api.Proof{}, errReadOnly
}

func (past0) SaveSources(context.Context, string, []state.SourceRecord) error { return errReadOnly }

func (past0) SaveBrief(context.Context, string, state.Brief) (api.Proof, error) {
	return api.Proof{}, errReadOnly
}

func (past0) Prune(context.Context, string, time.Time) (int64, error) { return 0, errReadOnly }

var errReadOnly = errors.New("states are recomputed, and not saved")

func found(equal bool) string {
	if equal {
		return Equal
	}
	return Differs
}

func (r *Report) problem(text string) { r.Problems = append(r.Problems, text) }

// standing adds to sources how they stood, as the state tells it: that is the word of the operator, and no document can tell.
func standing(sources []pipeline.PastSource, status []api.SourceStatus) []pipeline.PastSource {
	for _, s := range status {
		i := slices.IndexFunc(sources, func(p pipeline.PastSource) bool { return p.Source == s.ID })
		if i < 0 {
			sources, i = append(sources, pipeline.PastSource{SourceRecord: state.SourceRecord{Source: s.ID}}), len(sources)
			sources[i].Off = s.Failures == 0 && s.Error != nil && *s.Error != "no answer yet"
		}
		sources[i].Failures, sources[i].Ending = s.Failures, s.Ending
		if s.Error != nil && (s.Failures > 0 || sources[i].Off) {
			sources[i].Err = *s.Error
		}
	}
	return sources
}

// source looks at the evidence of a source, and returns its document as it is kept, nil if it is not.
func (v Verifier) source(ctx context.Context, r *Report, s api.LogSource) []byte {
	told := SourceReport{ID: s.ID, Doc: Unkept, Body: Unkept}
	defer func() { r.Sources = append(r.Sources, told) }()
	if i := slices.IndexFunc(v.left, func(l Left) bool { return l.ID == s.ID }); i >= 0 {
		told.Why = "not in the file: " + v.left[i].Why
		return nil
	}
	if s.Doc == "" {
		told.Why = "the leaf is of an earlier version, which told no hash of documents"
		return nil
	}
	doc, err := v.Store.Text(s.Doc)
	switch {
	case errors.Is(err, ErrGone):
		told.Why = "the document is not kept"
	case err != nil:
		told.Doc, told.Why = Differs, "the document was "+err.Error()
		r.problem(s.ID + ": " + told.Why)
	default:
		told.Doc = Equal
	}
	f, ok := v.Store.Fetch(v.Pack.ID, s.ID, s.Doc, s.At)
	if !ok {
		told.Why = "the bodies are not kept"
		return doc
	}
	remade, err := v.remake(ctx, s, f)
	switch {
	case errors.Is(err, ErrGone):
		told.Why = err.Error()
		return doc
	case err != nil:
		told.Body, told.Why = Differs, err.Error()
	case Hash(remade) != s.Doc:
		told.Body, told.Why = Differs, "its bodies make another document than the leaf has"
	default:
		told.Body = Equal
		return remade
	}
	r.problem(s.ID + ": " + told.Why)
	return doc
}

// remake makes the document of a source of its bodies, with its own connector.
func (v Verifier) remake(ctx context.Context, s api.LogSource, f Fetch) ([]byte, error) {
	i := slices.IndexFunc(v.Pack.Sources, func(p pack.Source) bool { return p.ID == s.ID })
	if i < 0 {
		return nil, errors.New("the pack has no such source")
	}
	bodies := recorded{}
	for _, b := range f.Bodies {
		text, err := v.Store.Text(b.Hash)
		if err != nil {
			return nil, fmt.Errorf("the body %s… of %s is %w", b.Hash[:min(12, len(b.Hash))], b.URL, err)
		}
		if !slices.Contains(s.Bodies, b.Hash) && s.Omitted == 0 {
			return nil, fmt.Errorf("the leaf has no body %s…", b.Hash[:min(12, len(b.Hash))])
		}
		bodies[pathOf(b.URL)] = text
	}
	connector := v.Pack.Sources[i].Connector
	var last source.Doc
	if s.From != "" {
		before, err := v.Store.Text(s.From)
		if err != nil {
			return nil, fmt.Errorf("the document before is %w", err)
		}
		if last, err = pipeline.ReadDoc(connector, before); err != nil {
			return nil, err
		}
	}
	fetcher := source.NewFetcher(source.Config{
		Transport: bodies, Now: func() time.Time { return f.At }, Shift: func(string) time.Duration { return f.Shift },
	})
	out := fetcher.Fetch(ctx, connector, last)
	if out.Doc == nil {
		return nil, errors.Join(errors.New("its bodies make no document"), out.Err)
	}
	return pipeline.WriteDoc(out.Doc, out.Via)
}

// recorded answers with bodies, by path and query: an account has another host of the same documents.
type recorded map[string][]byte

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if u.Path == "" || u.Path == "/" { // nodes differ in nothing else
		return u.Host
	}
	return u.RequestURI()
}

// RoundTrip answers as upstream did.
func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	text, ok := r[pathOf(req.URL.String())]
	if !ok {
		return nil, errors.New("no body of that address is kept")
	}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: req}, nil
}

// place lists the rows of a state, of which nothing can be said yet.
func (r *Report) place(p *pack.Pack, said state.Pulse) {
	for _, place := range said.Read().Places(p.Shown) {
		row := RowReport{Row: place.Row, Path: place.Path, Found: Unkept, raw: place.Raw()}
		if i := place.Ref() - 1; i >= 0 && i < len(p.Sources) {
			row.Source = p.Sources[i].ID
		}
		r.Rows = append(r.Rows, row)
	}
	for i, problem := range r.Problems { // of a source, of which the rows are not what its bodies say
		id, _, _ := strings.Cut(problem, ": ")
		var rows []string
		for _, row := range r.Rows {
			if row.Source == id {
				rows = append(rows, row.Row)
			}
		}
		if len(rows) > 0 {
			r.Problems[i] += "; rows of it: " + human.List(rows, mostRows)
		}
	}
}

// mostRows is how many rows of a source are named.
const mostRows = 20

// compareRows tells which rows of the state are equal in one that was made again. Where sources are absent another row says nothing: they
// may have made it so.
func (r *Report) compareRows(p *pack.Pack, made state.Pulse, absent map[string]bool) {
	again, complete := made.Read().Places(p.Shown), true
	for _, is := range absent {
		complete = complete && !is
	}
	for i, row := range r.Rows {
		at := slices.IndexFunc(again, func(a state.Place) bool { return a.Row == row.Row && a.Path == row.Path })
		switch equal := at >= 0 && bytes.Equal(row.raw, again[at].Raw()); {
		case absent[row.Source]:
		case equal:
			r.Rows[i].Found = Equal
		case complete:
			r.Rows[i].Found = Differs
			r.problem("row " + row.Row + " is another")
		}
	}
}

// compare tells what of a state that was made again of all its sources is as it was said.
func (r *Report) compare(leaf api.LogLeaf, made state.Pulse, own state.Brief) {
	r.State = found(Hash(made.State) == leaf.State)
	if r.State == Differs {
		r.problem("the state is another")
	}
	r.Tables = found(made.Made.Tables == leaf.Tables)
	switch {
	case leaf.Tables == "":
		r.Tables = Unkept
	case r.Tables == Differs:
		r.problem("the rows behind the state are others")
	}
	if r.Brief = found(Hash([]byte(own.Text)) == leaf.Brief); leaf.Brief == "" {
		r.Brief = Unkept
	} else if r.Brief == Differs {
		r.problem("the brief by rules is another: what it says beside the state is not in the leaf, or a model wrote it")
	}
}
