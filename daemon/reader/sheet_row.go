package reader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// SheetRow is a row of a sheet with all that the state has of it.
type SheetRow struct {
	state.ViewRow
	Table     state.ViewTable
	Figures   []state.Cell // each with what it is of
	Flags     []api.Flag
	Headlines []state.ViewRow
	Source    SheetSource
	Excerpt   string // of what its source says, as cite has it
}

// rowNews is how many headlines are told of a row.
const rowNews = 5

// Row is the row of s with an id, kind/key. It reports false where there is none.
func (s *Sheet) Row(id string) (SheetRow, bool) {
	for _, t := range s.Tables {
		i := slices.IndexFunc(t.Rows, func(r state.ViewRow) bool { return r.ID == id })
		if i < 0 {
			continue
		}
		row := SheetRow{ViewRow: t.Rows[i], Table: t, Figures: state.Figures(t.Rows[i].Fields)}
		row.Excerpt = state.Excerpt(row.Name, row.Symbol, row.Fields)
		if source := s.source(row.Ref); source != nil {
			row.Source = *source
		}
		_, key, _ := strings.Cut(id, "/")
		for _, f := range s.Flags {
			if f.Entity == id || f.Entity == key || f.Subject == row.Name {
				row.Flags = append(row.Flags, f)
			}
		}
		row.Headlines = s.news(row.ViewRow)
		return row, true
	}
	return SheetRow{}, false
}

// news are the headlines of s that name a row by its name, or by its symbol in capitals.
func (s *Sheet) news(row state.ViewRow) (list []state.ViewRow) {
	name := " " + strings.ToLower(row.Name) + " "
	for _, t := range s.Tables {
		for _, one := range t.Rows {
			if !t.Headlines || one.ID == row.ID || len(list) == rowNews {
				continue
			}
			title := " " + strings.Map(letterOrSpace, one.Name) + " "
			if strings.Contains(strings.ToLower(title), name) || row.Symbol != "" && strings.Contains(title, " "+row.Symbol+" ") {
				list = append(list, one)
			}
		}
	}
	return list
}

func letterOrSpace(r rune) rune {
	if strings.ContainsRune(`,.:;!?'"()’“”/`, r) {
		return ' '
	}
	return r
}

// Course is how the rows of a pack moved over a span, as its states tell. It never changes.
type Course struct {
	Times  []time.Time
	Values map[string][]*float64 // by kind/key
	Fields map[string]string     // what they are of
}

// Course reads how the rows of s moved over a span that ends now, at so many points.
func (r *Reader) Course(ctx context.Context, s *Sheet, span time.Duration, points int) (*Course, error) {
	p, served := r.pack(s.Pack)
	if !served {
		return nil, r.notServed(s.Pack)
	}
	return r.course(ctx, p, s, span, points)
}

// course reads how the rows of s moved.
func (r *Reader) course(ctx context.Context, p Pack, s *Sheet, span time.Duration, points int) (*Course, error) {
	var members []string
	var all []*state.Series
	for _, shown := range p.Shown {
		member, _, _ := strings.Cut(shown.Path, ".")
		if len(shown.Fields) > 0 && shown.Key == "" && !slices.Contains(members, member) {
			members = append(members, member)
			all = append(all, state.NewSeries(p.Shown, member, "", s.edition.Doc))
		}
	}
	end, last := r.cfg.Now().UTC(), time.Unix(0, 0)
	if s.GeneratedAt.After(end) {
		end = s.GeneratedAt
	}
	c := &Course{Times: state.Times(end, span, points), Values: map[string][]*float64{}, Fields: map[string]string{}}
	var told []bool // by time, whether there is a state that the time before had not
	for past, err := range r.cfg.History.Past(ctx, p.ID, slices.Values(c.Times)) {
		if err != nil {
			return nil, fmt.Errorf("trends of %s: %w", p.ID, err)
		}
		again := past.GeneratedAt.Equal(last)
		for _, one := range all {
			if again {
				one.Again()
			} else {
				one.Add(past.State)
			}
		}
		last, told = past.GeneratedAt, append(told, !again)
	}
	for _, one := range all {
		for _, row := range one.Rows() {
			for i := range max(len(told)-1, 0) {
				if !told[i] { // a line joins the states around it
					row.Values[i] = nil
				}
			}
			c.Values[row.Kind+"/"+row.Key], c.Fields[row.Kind+"/"+row.Key] = row.Values, row.Field
		}
	}
	return c, nil
}
