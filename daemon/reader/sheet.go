package reader

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Sheet is the newest edition of a pack as people read it: text that is cleaned, rounded and in the units of its fields. It never changes.
type Sheet struct {
	Pack        string
	GeneratedAt time.Time
	Flags       []api.Flag // the worst first, those of one severity as they came
	Groups      []state.FlagGroup
	Tiles       []Tile
	Brief       [][]Span  // paragraphs
	BriefAt     time.Time // when it was written, zero for none
	BriefOf     time.Time // of another state than this, zero for this one
	Since       [][]Span  // what came after the brief, by rules
	Tables      []state.ViewTable
	Sources     []SheetSource

	edition *feed.Edition
	trends  map[string][]*float64 // by kind/key
	drawn   time.Time             // when trends were read
}

// Tile is a row that stands above all others: the number that it is about, and how that moved or what it means.
type Tile struct {
	Row   state.ViewRow
	Value state.Cell
	Move  state.Cell // labelled with its span; without a text where there is none
	Note  string
}

// Span is a piece of a brief: text, an anchor, or a figure that a row holds.
type Span struct {
	Text string
	Ref  int    // the source of an anchor or a figure; 0 for text
	Tip  string // what holds a figure, "" for an anchor
}

// SheetSource is a source and how it does.
type SheetSource struct {
	Ref           int
	ID, Name, URL string
	Status        api.SourceState
	At            time.Time // of its last good answer
	Error         string
	Use           api.Use
}

// Notices are those that the sources of s prescribe.
func (s *Sheet) Notices() []string {
	var uses []api.Use
	for _, one := range s.Sources {
		if !one.At.IsZero() {
			uses = append(uses, one.Use)
		}
	}
	return api.Notices(uses...)
}

const (
	sheetPoints = 48 // of a trend
	sheetSpan   = 24 * time.Hour
	sheetTrends = 10 * time.Minute // for how long trends that were read are shown
)

// Sheet is the newest edition of pack as people read it: last, if that is it still.
func (r *Reader) Sheet(ctx context.Context, pack string, last *Sheet) (*Sheet, error) {
	v, err := r.Ready(api.Query{Op: api.OpFresh, Pack: pack})
	if err != nil {
		return nil, err
	}
	seen := *v.edition
	e := &seen
	if last != nil && last.edition.Serial == e.Serial && last.edition.Brief.Brief == e.Brief.Brief && last.edition.Health == e.Health {
		return last, nil
	}
	e.Doc = e.Doc.As(e.Freshness(r.cfg.Now()))
	s := &Sheet{Pack: pack, GeneratedAt: e.GeneratedAt, edition: e, BriefAt: e.Brief.At}
	if !e.Brief.Of.IsZero() && !e.Brief.Of.Equal(e.GeneratedAt) {
		s.BriefOf = e.Brief.Of
	}
	if last != nil && r.cfg.Now().Sub(last.drawn) < sheetTrends {
		s.trends, s.drawn = last.trends, last.drawn
	} else if c, err := r.course(ctx, v.pack, s, sheetSpan, sheetPoints); err != nil {
		return nil, err
	} else {
		s.trends, s.drawn = c.Values, r.cfg.Now()
	}
	sections := r.fillSheet(s, v.pack)
	narration, err := r.claimed(ctx, v, e.Brief)
	if err != nil {
		return nil, err
	}
	s.Brief = s.spans(narration.Text, narration.Claims, sections)
	if e.Brief.Since != nil {
		s.Since = s.spans(e.Brief.Since.Text, nil, nil)
	}
	return s, nil
}

// fillSheet fills s by its edition, but for what is told of it, and returns the sections of its state.
func (r *Reader) fillSheet(s *Sheet, p Pack) []state.Section {
	e := s.edition
	s.setFlags(e.Doc.Flags())
	s.setSources(e.Doc.Sources(), p.Names)
	sections := e.Doc.Sections(p.Shown)
	s.Tables = e.Doc.Sheet(sections, e.Rows, e.GeneratedAt)
	for _, t := range s.Tables {
		for i, row := range t.Rows {
			if source := s.source(row.Ref); source != nil {
				t.Rows[i].At = source.At
			}
		}
	}
	s.setTiles()
	return sections
}

// SheetAt is the state of pack as of a moment, for who may read history as far back as window. Nothing is told of it: no brief, no trends.
func (r *Reader) SheetAt(ctx context.Context, pack string, at api.Moment, window time.Duration) (*Sheet, error) {
	v, err := r.Ready(api.Query{Op: api.OpSnapshot, Pack: pack, At: at})
	if err != nil {
		return nil, err
	}
	pulse, err := r.past(ctx, v, window)
	if err != nil {
		return nil, err
	}
	pulse.Doc = pulse.Read()
	s := &Sheet{Pack: pack, GeneratedAt: pulse.GeneratedAt, edition: &feed.Edition{Pulse: pulse, Rows: v.edition.Rows}}
	r.fillSheet(s, v.pack)
	return s, nil
}

// Trend is how a row moved in the last day, nil where it never did.
func (s *Sheet) Trend(row state.ViewRow) []*float64 {
	var first *float64
	values := s.trends[row.ID]
	for _, v := range values {
		if v != nil && first != nil && *v != *first {
			return values
		}
		first = cmp.Or(first, v)
	}
	return nil
}

// Proof is the leaf of the state in the log; zero where it has none.
func (s *Sheet) Proof() api.Proof { return s.edition.Proof }

// Freshness is that of s at now.
func (s *Sheet) Freshness(now time.Time) api.Freshness { return s.edition.Freshness(now) }

// SheetAge is how long ago something was, as people read it.
func SheetAge(d time.Duration) string { return human.Age(d) }

// SheetReasons says how many sources fail why, in the order of the first of each.
func SheetReasons(sources []api.SourceStatus) (list []string) {
	counts := map[string]int{}
	for _, one := range sources {
		if one.Error == nil {
			continue
		}
		text := human.Line(*one.Error)
		if counts[text]++; counts[text] == 1 {
			list = append(list, text)
		}
	}
	for i, text := range list {
		list[i] = human.Plural(counts[text], "source") + ": " + text
	}
	return list
}

// setFlags sorts flags by how bad they are.
func (s *Sheet) setFlags(flags []api.Flag) {
	flags = slices.Clone(flags)
	for i := range flags {
		flags[i].Message = human.Line(flags[i].Message)
	}
	slices.SortStableFunc(flags, func(a, b api.Flag) int {
		return cmp.Compare(slices.Index(api.Severities(), b.Severity), slices.Index(api.Severities(), a.Severity))
	})
	s.Flags, s.Groups = flags, state.GroupFlags(flags)
}

const sheetTiles = 4

// setTiles chooses the rows that stand above all others: those that lead their pack or, of other packs, the first of each table.
func (s *Sheet) setTiles() {
	for _, id := range state.Leads(s.Pack) {
		for i, t := range s.Tables {
			if j := slices.IndexFunc(t.Rows, func(r state.ViewRow) bool { return r.ID == id }); j >= 0 {
				s.tile(i, j)
				break
			}
		}
	}
	for j := 0; j < sheetTiles && state.Leads(s.Pack) == nil; j++ {
		for i, t := range s.Tables {
			if j < len(t.Rows) && len(s.Tiles) < sheetTiles {
				s.tile(i, j)
			}
		}
	}
}

// tile makes a tile of a row of a table, if it is about a number.
func (s *Sheet) tile(table, row int) {
	t := s.Tables[table]
	made := Tile{Row: t.Rows[row]}
	switch {
	case t.Readings && len(made.Row.Cells) > 0:
		made.Value = made.Row.Cells[0]
	case len(t.Columns) > 0 && !t.Columns[0].Words:
		made.Value = t.Columns[0].Cells[row]
		made.Value.Label = human.FieldLabel(t.Columns[0].Field)
	default:
		return
	}
	if !made.Value.Known() || made.Value.Text == "" {
		return
	}
	for _, f := range made.Row.Fields {
		_, number := f.Value.(float64)
		text, _ := f.Value.(string)
		_, notTime := time.Parse(time.RFC3339, text)
		day := strings.Contains(f.Name, "24h") || strings.Contains(f.Name, "1d")
		switch {
		case number && day && human.FieldMoves(f.Name) && made.Move.Text == "":
			made.Move = state.NewCell(f.Name, f.Value)
			made.Move.Label = human.FieldLabel(f.Name)
		case text != "" && notTime != nil && made.Note == "" && text != made.Row.Of:
			made.Note = human.Short(text, tileNote)
		}
	}
	s.Tiles = append(s.Tiles, made)
}

const tileNote = 32 // runes

func (s *Sheet) setSources(list []api.SourceStatus, names map[string]string) {
	for _, one := range list {
		told := SheetSource{Ref: one.Ref, ID: one.ID, Name: cmp.Or(names[one.ID], one.ID), Status: one.Status}
		if one.FetchedAt != nil {
			told.At = *one.FetchedAt
		}
		if one.Error != nil {
			told.Error = human.Line(*one.Error)
		}
		if i := one.Ref - 1; i >= 0 && i < len(s.edition.Citations) {
			told.URL, told.Use = s.edition.Citations[i].URL, s.edition.Citations[i].Use
		}
		s.Sources = append(s.Sources, told)
	}
}

// source is that of an anchor, nil for an unknown one.
func (s *Sheet) source(ref int) *SheetSource {
	i := slices.IndexFunc(s.Sources, func(one SheetSource) bool { return one.Ref == ref })
	if i < 0 {
		return nil
	}
	return &s.Sources[i]
}

var anchors = regexp.MustCompile(`\[(\d+)\]`)

// spans splits prose into paragraphs of text, anchors and figures. sections have the rows that figures may be of.
func (s *Sheet) spans(text string, claims []api.Claim, sections []state.Section) (list [][]Span) {
	runes := []rune(text)
	var whole []Span
	at := 0
	plain := func(end int) {
		piece := string(runes[at:end])
		from := 0
		for _, m := range anchors.FindAllStringSubmatchIndex(piece, -1) {
			ref, _ := strconv.Atoi(piece[m[2]:m[3]])
			before := piece[from:m[0]]
			if text, spaced := strings.CutSuffix(before, " "); spaced {
				before = text + "\u00a0" // an anchor does not begin a line
			}
			whole = append(whole, Span{Text: before}, Span{Text: piece[m[2]:m[3]], Ref: ref})
			from = m[1]
		}
		whole = append(whole, Span{Text: piece[from:]})
		at = end
	}
	for _, c := range claims {
		if c.Start < at || c.End > len(runes) || c.Start > c.End {
			continue
		}
		plain(c.Start)
		whole = append(whole, Span{Text: string(runes[c.Start:c.End]), Ref: c.Ref, Tip: s.tip(c, sections)})
		at = c.End
	}
	plain(len(runes))
	var paragraph []Span
	for _, span := range whole {
		if span.Ref > 0 {
			paragraph = append(paragraph, span)
			continue
		}
		for i, piece := range strings.Split(span.Text, "\n\n") {
			if i > 0 {
				list, paragraph = append(list, paragraph), nil
			}
			if piece != "" {
				paragraph = append(paragraph, Span{Text: human.Text(piece)})
			}
		}
	}
	return slices.DeleteFunc(append(list, paragraph), func(p []Span) bool { return len(p) == 0 })
}

// tip says what holds the figure of c.
func (s *Sheet) tip(c api.Claim, sections []state.Section) string {
	text := ""
	for _, section := range sections {
		for _, row := range section.Rows {
			if row.Kind+"/"+row.Key != c.Row {
				continue
			}
			if text = row.View().Name; row.Fields.Get(c.Field) != nil {
				text += ": " + human.Field(c.Field, row.Fields.Get(c.Field))
			}
			text += " · "
		}
	}
	if source := s.source(c.Ref); source != nil {
		text += source.Name
	}
	return text
}
