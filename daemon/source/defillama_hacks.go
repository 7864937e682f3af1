package source

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// DefiLlamaHacks is defillama-hacks: losses that were reported, newest first. Amounts are often corrected later.
func DefiLlamaHacks() Connector {
	c := Connector{ID: "defillama-hacks", Interval: time.Hour, StaleAfter: 2 * time.Hour, wholeDays: true, Use: useDefiLlama()}
	return document(c, "https://api.llama.fi/hacks", decodeHacks)
}

type hackRow struct {
	Date, Amount    number
	Name, Technique string
	LlamaID         identifier `json:"defillamaId"`
}

// hack drops rows without a name or a date. A date ahead of today is today.
func (r hackRow) hack(today time.Time) (h Hack, id string, wanted bool) {
	date, name := r.Date.Time(), human.Label(r.Name, CapName)
	if date == nil || name == "" {
		return Hack{}, "", false
	}
	h = Hack{
		Name:      name,
		Technique: human.Label(r.Technique, CapName),
		LlamaID:   string(r.LlamaID),
		Amount:    r.Amount.Amount(),
		Date:      clampTime(date.Truncate(day), today),
	}
	return h, h.Name + " " + h.Date.Format(time.DateOnly), true
}

func decodeHacks(body io.Reader, at time.Time) (*HacksDoc, int, error) {
	today := at.UTC().Truncate(day)
	kept, dropped, err := decodeRows(body, func(r hackRow) (Hack, string, bool) { return r.hack(today) })
	slices.SortStableFunc(kept, func(a, b Hack) int {
		return cmp.Or(b.Date.Compare(a.Date), strings.Compare(a.Name, b.Name))
	})
	return &HacksDoc{Hacks: capRows(kept)}, dropped, err
}
