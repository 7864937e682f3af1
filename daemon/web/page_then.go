package web

import (
	"context"
	"slices"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// maxPast is how many pages of past states are kept.
const maxPast = 64

// then is the page of a pack as of a moment, for who may look as far back as window.
func (p *Page) then(ctx context.Context, pack, text string, window time.Duration) (*pageMade, error) {
	var at api.Moment
	if ago, ok := api.ParseAgo(text); ok {
		at = api.MomentOf(p.cfg.Now().Add(-ago).Truncate(time.Minute)) // so that its link is of one state
	} else {
		var err error
		if at, err = api.ParseMoment(text); err != nil {
			return nil, err
		}
	}
	sheet, err := p.cfg.Sheets.SheetAt(ctx, pack, at, window)
	if err != nil {
		return nil, err
	}
	key := at.Key()
	same := func(m *pageMade) bool {
		return m.moment == key && m.sheet.Pack == pack && m.sheet.GeneratedAt.Equal(sheet.GeneratedAt)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.past, same); i >= 0 {
		made := p.past[i]
		p.past = append(slices.Delete(p.past, i, i+1), made)
		return made, nil
	}
	made := &pageMade{sheet: sheet, tables: tablesOf(sheet, key), page: p, moment: key, asOf: at.At}
	if err := made.render(); err != nil {
		return nil, err
	}
	if p.past = append(p.past, made); len(p.past) > maxPast {
		p.past = slices.Delete(p.past, 0, 1)
	}
	return made, nil
}
