package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// NoticeService stands in a notice for who serves the data.
const NoticeService = "{service}"

// Terms are what an operator heeds of the terms of sources.
type Terms struct {
	Service  string   // who serves, for notices that name it; "" means "this service"
	Licensed []string // ids of sources for which the operator has a licence
	Clean    bool     // only what may be sold is served
}

// At is p with a source of it asked where the operator says.
func (p *Pack) At(m source.Moved) (*Pack, error) {
	at := *p
	at.Sources = slices.Clone(p.Sources)
	i := slices.IndexFunc(at.Sources, func(s Source) bool { return s.ID == m.ID })
	var err error
	if at.Sources[i].Connector, err = at.Sources[i].At(m.URL); err != nil {
		return nil, err
	}
	if p.Digest != "" {
		at.Digest += fmt.Sprintf(", %s at %s", m.ID, m.URL)
	}
	return &at, nil
}

// Under is p as it is served under t. With Clean, this is the one place that says what is not served: a source whose Connector says so is
// not asked, so that nothing of it can be in a state, and Serves tells of older states whether they are free of it.
func (p *Pack) Under(t Terms) *Pack {
	under := *p
	under.Sources = slices.Clone(p.Sources)
	if t.Service == "" {
		t.Service = "this service"
	}
	for i := range under.Sources {
		s := &under.Sources[i]
		s.Licensed = slices.Contains(t.Licensed, s.ID)
		s.Use.Notice = strings.ReplaceAll(s.Use.Notice, NoticeService, t.Service)
		if t.Clean {
			s.Connector = s.Sold(s.Licensed)
		}
		s.Fallbacks = slices.Clone(s.Fallbacks)
		for j := range s.Fallbacks {
			b := &s.Fallbacks[j]
			b.Use.Notice = strings.ReplaceAll(b.Use.Notice, NoticeService, t.Service)
		}
	}
	if under.clean = t.Clean; p.Digest != "" {
		under.Digest = fmt.Sprintf("%s, under %+v", p.Digest, t)
	}
	return &under
}

// Unsold are those whose data p serves although it may not be sold: ids of sources without a licence, and who stands in for which.
func (p *Pack) Unsold() (list []string) {
	for _, s := range p.Sources {
		if !s.Licensed && !s.Use.Sellable() && s.Serves("") {
			list = append(list, s.ID)
		}
		for _, b := range s.Fallbacks {
			if !b.Use.Sellable() {
				list = append(list, b.Via+" (for "+s.ID+")")
			}
		}
	}
	return list
}

// Notices are those that the sources of p prescribe, and who stands in for them.
func (p *Pack) Notices() []string {
	var uses []api.Use
	for _, s := range p.Sources {
		if s.Withheld != "" {
			continue
		}
		uses = append(uses, s.Use)
		for _, b := range s.Fallbacks {
			uses = append(uses, b.Use)
		}
	}
	return api.Notices(uses...)
}

// Clean reports whether p serves only what may be sold.
func (p *Pack) Clean() bool { return p.clean }

// Serves reports whether a state may be served: all of it is of sources of p that may be, by whoever answered for them.
func (p *Pack) Serves(pulse state.Pulse) bool {
	if !p.clean {
		return true
	}
	rows := pulse.Read().Sources()
	for _, row := range rows {
		if row.FetchedAt == nil {
			continue
		}
		i := slices.IndexFunc(p.Sources, func(s Source) bool { return s.ID == row.ID })
		if i < 0 || !p.Sources[i].Serves(row.Via) {
			return false
		}
	}
	return len(rows) > 0 // else nobody knows
}
