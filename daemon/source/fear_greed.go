package source

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// FearGreed is alternativeme-fng: the Crypto Fear & Greed Index of today and the seven days before. Its terms ask for the source to be
// named next to the value.
func FearGreed() Connector {
	c := Connector{ID: "alternativeme-fng", Interval: time.Hour, StaleAfter: 26 * time.Hour, Use: useFearGreed()}
	return document(c, "https://api.alternative.me/fng/?limit=8", decodeFearGreed)
}

type fearGreedRow struct {
	Value       number
	Label       string `json:"value_classification"`
	Timestamp   number
	UntilUpdate number `json:"time_until_update"` // seconds, on the newest row only
}

// day drops rows without a time or with a value outside 0 to 100.
func (r fearGreedRow) day(fetched time.Time) (d FearGreedDay, id string, wanted bool) {
	value, at := r.Value.Int(), r.Timestamp.Time()
	if value == nil || *value > 100 || at == nil {
		return FearGreedDay{}, "", false
	}
	d = FearGreedDay{Value: *value, Label: human.Label(r.Label, CapName), At: clampTime(*at, fetched)}
	return d, strconv.FormatInt(at.Unix(), 10), true
}

func decodeFearGreed(body io.Reader, at time.Time) (*FearGreedDoc, int, error) {
	var in struct {
		Data     []json.RawMessage
		Metadata struct{ Error json.RawMessage }
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	if e := string(in.Metadata.Error); e != "" && e != "null" && e != `""` {
		return nil, 0, fail(ClassBadContent, "upstream reports an error with HTTP 200")
	}
	kept, dropped, err := convertRows(in.Data, func(r fearGreedRow) (FearGreedDay, string, bool) { return r.day(at) })
	if err != nil {
		return nil, dropped, err
	}
	slices.SortStableFunc(kept, func(a, b FearGreedDay) int { return b.At.Compare(a.At) })
	return &FearGreedDoc{Days: capRows(kept), NextUpdate: nextUpdate(in.Data[0], at)}, dropped, nil
}

// nextUpdate turns the seconds until the next update into a time, rounded so that it stays the same from fetch to fetch.
func nextUpdate(newest json.RawMessage, at time.Time) *time.Time {
	var r fearGreedRow
	if json.Unmarshal(newest, &r) != nil {
		return nil
	}
	left := r.UntilUpdate.Int()
	if left == nil || *left > int(7*day.Seconds()) {
		return nil
	}
	t := at.Add(time.Duration(*left) * time.Second).Round(time.Minute)
	return &t
}
