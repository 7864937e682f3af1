package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
)

// Make makes the pack of a manifest that was read, and the writer of its briefs.
func (m *Manifest) Make(e Evaluator) (*pack.Pack, brief.Writer, error) {
	t := pack.Tabular{
		ID: m.Pack, Title: m.Title, Description: m.Description, Digest: m.digest, Version: m.Version, Kinds: m.stateKinds(),
		MaxState: m.Limits.StateBytes,
	}
	for i := range m.Sources {
		s := &m.Sources[i]
		connector, err := m.declared(s, e)
		if err != nil {
			return nil, nil, err
		}
		t.Sources = append(t.Sources, pack.Source{Connector: connector, Name: s.Name, PublicURL: s.PublicURL, Licence: s.Licence})
		t.Tables = append(t.Tables, m.table(s))
	}
	for _, member := range m.Members {
		made := pack.Member{Name: member.Name}
		for _, id := range member.From {
			s, ref := m.source(id)
			made.From = append(made.From, ref)
			for _, name := range member.Fields {
				if wire := s.derived(name).wire; !slices.Contains(made.Fields, wire) {
					made.Fields = append(made.Fields, wire)
				}
			}
		}
		t.Members = append(t.Members, made)
	}
	for _, f := range m.Flags {
		rule, err := m.rule(f)
		if err != nil {
			return nil, nil, err
		}
		t.Flags = append(t.Flags, rule)
	}
	writer, err := m.writer()
	return t.Pack(), writer, err
}

func (m *Manifest) table(s *Source) pack.Table {
	t := pack.Table{Kind: s.Kind, Link: s.Link}
	if s.Time != "" {
		t.News = s.derived(s.Time).wire
	}
	for _, d := range s.all() {
		if d.number {
			t.Numbers = append(t.Numbers, d.wire)
		}
	}
	for _, k := range m.Kinds {
		if d := s.derived(k.Order); k.Name == s.Kind && d != nil {
			t.Size = d.wire
		}
	}
	return t
}

func (m *Manifest) rule(f Flag) (pack.FlagRule, error) {
	s, ref := m.source(f.Over)
	message, err := s.template(f.Message)
	value := s.derived(s.valueOf(f))
	rule := pack.FlagRule{Kind: f.Kind, Ref: ref, Value: value.wire, Unit: unitOf(value.kind), Threshold: f.Threshold, Message: message}
	if f.At != "" {
		rule.EventAt = s.derived(f.At).wire
	}
	return rule, err
}

// unitOf is the unit of a flag by the type of its value.
func unitOf(kind string) string {
	switch kind {
	case typePrice, typeUSD:
		return "usd"
	case typePercent, typePercent4:
		return "pct"
	}
	return "index"
}

// stateKinds are the kinds of rows in the order of their sources.
func (m *Manifest) stateKinds() (list []state.Kind) {
	for i := range m.Sources {
		s := &m.Sources[i]
		at := slices.IndexFunc(list, func(k state.Kind) bool { return k.Name == s.Kind })
		if at < 0 {
			at = len(list)
			list = append(list, m.stateKind(s.Kind))
		}
		if t := m.table(s); list[at].Size == "" {
			list[at].Size = cmp.Or(t.Size, t.News)
		}
		for _, f := range s.Fields {
			for _, d := range f.derived() {
				if !slices.ContainsFunc(list[at].Fields, func(f state.Field) bool { return f.Name == d.wire }) {
					list[at].Fields = append(list[at].Fields, state.Field{
						Name: d.wire, Words: wordsOf(f, d), Filter: f.Type == typeText && filters(f.Name),
					})
				}
			}
		}
	}
	return list
}

// stateKind is the kind of a name without its fields.
func (m *Manifest) stateKind(name string) state.Kind {
	plain := strings.ReplaceAll(name, "_", " ")
	k := state.Kind{Name: name, Words: []string{plain, plain + "s"}}
	i := slices.IndexFunc(m.Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return k
	}
	k.Own = m.Kinds[i].Own
	k.Words = append(k.Words, lower(m.Kinds[i].Words)...)
	for _, o := range m.Kinds[i].Orders {
		for j := range m.Sources {
			if d := m.Sources[j].derived(o.Field); m.Sources[j].Kind == name && d != nil {
				k.Orders = append(k.Orders, state.Order{Words: lower(o.Words), Field: d.wire, Least: o.Least})
				break
			}
		}
	}
	return k
}

// filters reports whether questions leave out rows by a text of a name: what says where they come from.
func filters(name string) bool {
	return slices.Contains([]string{"venue", "publisher", "category", "network", "exchange", "form", "agency"}, name)
}

func lower(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = strings.ToLower(w)
	}
	return list
}

func wordsOf(f Field, d derived) []string {
	words := append(strings.Split(d.name, "_"), strings.ReplaceAll(d.name, "_", " "))
	if d.name == f.Name {
		words = append(words, lower(f.Words)...)
	}
	switch d.kind {
	case typePrice:
		words = append(words, "price", "cost", "costs", "pay", "charge", "charging")
	case typeTime, typeDate:
		words = append(words, "when")
	}
	return words
}

func (m *Manifest) declared(s *Source, e Evaluator) (source.Connector, error) {
	d, err := m.asking(s, s.Request)
	if err != nil {
		return source.Connector{}, err
	}
	d.Use = s.Use.api()
	if s.Request.KeyFile != "" {
		d.KeyHeader, d.Key = s.Request.KeyHeader, func() (string, error) {
			key, err := m.Key(s)
			return strings.TrimSpace(s.Request.KeyPrefix + " " + key), err
		}
	}
	d.Decode = func(ctx context.Context, answer source.Answer, last *source.RowsDoc) (*source.RowsDoc, int, error) {
		doc, dropped, err := m.decode(ctx, s, e, s.ID, nil, answer, last)
		if class, _ := source.Judged(err); err != nil && s.Quiet && class == source.ClassEmpty && last != nil {
			err = source.Unchanged()
		}
		return doc, dropped, err
	}
	for i := range s.Fallbacks {
		b := &s.Fallbacks[i]
		instead, err := m.asking(s, b.Request)
		if err != nil {
			return source.Connector{}, err
		}
		instead.Use = b.Use.api()
		instead.Decode = func(ctx context.Context, answer source.Answer, last *source.RowsDoc) (*source.RowsDoc, int, error) {
			return m.decode(ctx, s, e, fallbackID(s.ID, i), b, answer, last)
		}
		d.Fallbacks = append(d.Fallbacks, source.DeclaredFallback{Via: b.Name, Declared: instead})
	}
	return d.Connector(), nil
}

// asking is how a source is asked by a request, its own or that of a fallback.
func (m *Manifest) asking(s *Source, r Request) (source.Declared, error) {
	d := source.Declared{
		ID: s.ID, Interval: s.Every, StaleAfter: s.StaleAfter, Method: r.Method, URL: r.URL,
		MaxBytes: int64(r.MaxBytes), Timeout: r.Timeout, PerMinute: s.PerMinute, Timely: m.timely(s),
	}
	for _, f := range s.Fields {
		d.Fields = append(d.Fields, wireName(f.Name, f.Type))
	}
	if r.JSON != nil {
		body, err := json.Marshal(r.JSON)
		if err != nil {
			return d, fmt.Errorf("encode request of %s: %w", s.ID, err)
		}
		d.Body = body
	}
	for _, h := range r.Headers {
		if d.Header == nil {
			d.Header = make(map[string]string)
		}
		d.Header[h.Name] = h.Value
	}
	return d, nil
}

// KeysIn says where the key files of the manifest lie.
func (m *Manifest) KeysIn(dir string) { m.dir = dir }

// Key reads the key that a source is sent.
func (m *Manifest) Key(s *Source) (string, error) {
	text, err := os.ReadFile(filepath.Join(m.dir, s.Request.KeyFile))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || len(key) > 4096 || strings.ContainsAny(key, "\r\n\x00") {
		return "", errors.New("the file holds no key")
	}
	return key, nil
}

// decode makes rows of an answer of a source, or of its fallback b: id is by what the evaluator knows it.
func (m *Manifest) decode(
	ctx context.Context, s *Source, e Evaluator, id string, b *Fallback, answer source.Answer, last *source.RowsDoc,
) (*source.RowsDoc, int, error) {
	raw, err := e.Rows(ctx, id, answer.Body, answer.At)
	if err != nil {
		return nil, 0, err
	}
	if len(raw) == 0 {
		return nil, 0, source.Refuse(source.ClassEmpty, "the answer has no rows")
	}
	doc, dropped := new(source.RowsDoc), 0
	doc.Rows, dropped = s.unique(raw, m.Limits.Rows)
	if b != nil {
		if err := b.agree(s, doc, last); err != nil {
			return nil, dropped, err
		}
	}
	s.remember(doc, last, answer.Now)
	rows := make([]any, len(doc.Rows))
	for i := range doc.Rows {
		rows[i] = s.forJQ(&doc.Rows[i])
	}
	judgement, err := e.Judge(ctx, s.ID, rows, answer.At)
	if err != nil {
		return nil, dropped, err
	}
	doc.Picks, doc.Marks = make(map[string][]string, len(judgement.Picks)), judgement.Marks
	for name, keys := range judgement.Picks {
		doc.Picks[pack.PickOf(name)] = keys
	}
	return doc, dropped, nil
}

// agree leaves out the rows of doc whose number is too far from that of the row before, and refuses doc where these are most of them.
func (b *Fallback) agree(s *Source, doc, last *source.RowsDoc) error {
	if b.Compare == "" || last == nil {
		return nil
	}
	wire, compared, off := s.derived(b.Compare).wire, 0, 0
	doc.Rows = slices.DeleteFunc(doc.Rows, func(r source.DeclaredRow) bool {
		before := last.Row(r.Key)
		if before == nil {
			return false
		}
		was, is := before.Value(wire), r.Value(wire)
		if was == nil || is == nil || was.Number == nil || is.Number == nil {
			return false
		}
		compared++
		if math.Abs(*is.Number-*was.Number)*100 <= b.Within*math.Abs(*was.Number) {
			return false
		}
		off++
		return true
	})
	if 2*off > compared || len(doc.Rows) == 0 {
		return source.Refuse(source.ClassBadContent, "%d of %d rows of %s are not near those before", off, compared, b.Name)
	}
	return nil
}

// unique cleans rows and keeps as many as limit of them: the first, and of news the newest. dropped are those that made no sense or came
// twice.
func (s *Source) unique(raw []any, limit int) (rows []source.DeclaredRow, dropped int) {
	seen := make(map[string]bool, min(len(raw), limit))
	for _, value := range raw {
		if len(rows) >= limit && s.Time == "" {
			break
		}
		row, ok := s.clean(value)
		if !ok || seen[row.Key] || len(row.Values) == 0 {
			dropped++
			continue
		}
		seen[row.Key] = true
		rows = append(rows, row)
	}
	if s.Time != "" {
		wire := s.derived(s.Time).wire
		slices.SortStableFunc(rows, func(a, b source.DeclaredRow) int { return cmp.Compare(unix(&b, wire), unix(&a, wire)) })
	}
	return rows[:min(len(rows), limit)], dropped
}

// unix is the time of a row in seconds, 0 where it has none.
func unix(r *source.DeclaredRow, wire string) int64 {
	if v := r.Value(wire); v != nil && v.Time != nil {
		return v.Time.Unix()
	}
	return 0
}

func (m *Manifest) writer() (brief.Writer, error) {
	var list []brief.Sentence
	for _, say := range m.Brief {
		i := slices.IndexFunc(m.Members, func(member Member) bool { return member.Name == say.Over })
		s, _ := m.source(m.Members[i].From[0])
		made := brief.Sentence{Over: say.Over, Least: say.Least, Above: say.Above, Below: say.Below, Rows: say.Rows}
		if d := s.derived(say.by(s)); d != nil && say.bounded() {
			made.By, made.Sorted = d.wire, say.By != ""
		}
		before, after, listed := strings.Cut(say.Say, "{list}")
		parts := []*human.Template{&made.Before, &made.After, &made.Item}
		for j, text := range []string{before, after, say.Item} {
			t, err := s.template(text)
			if err != nil {
				return nil, err
			}
			*parts[j] = t
		}
		made.Listed = listed
		list = append(list, made)
	}
	return brief.BySentences(m.Title, list), nil
}
