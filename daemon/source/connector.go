package source

import (
	"context"
	"io"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Connector is one source: which document it reads, how often, and how. Connectors are made by functions such as
// CoinGeckoMarkets and never change.
type Connector struct {
	ID         string
	Interval   time.Duration // from one fetch to the next while all goes well
	StaleAfter time.Duration // age at which its last answer counts as stale
	New        func() Doc    // an empty Doc, to decode a stored one into
	Asks       []Ask         // what an attempt asks for
	Fallbacks  []Fallback    // who is asked where it fails, in this order
	Fields     []string      // of a declared source's rows, as they are called on the wire
	Use        api.Use       // what its terms allow
	Remembers  bool          // a document is made of the one before too
	Withheld   string        // why it is not asked at all, "" where it is; see Sold
	Moved      string        // the address that the operator gave, "" for that which is declared; see At

	// read asks upstream and decodes what it says; last is the last good Doc, nil if there is none.
	read func(ctx context.Context, a *attempt, last Doc) (doc Doc, dropped int, err error)
	// fresh fails if doc is too old at a time; nil for sources whose documents bear no time that could tell.
	fresh func(doc Doc, at time.Time) error
	// moves is for sources that never say the same twice while they live: one that does for longer than StaleAfter is frozen.
	moves bool
	// limit bounds the body in bytes; 0 is what request says.
	limit int64
	// varies is for lists that grow and shrink by nature: one with less than half of the rows is good too.
	varies bool
	// declared is the address in place of which Moved is asked.
	declared string
	// ownWithheld is for those that are not asked themselves, see Sold.
	ownWithheld bool
	// wholeDays is for dates without a time of day, which stay at midnight when recorded data is shifted.
	wholeDays bool
}

// document makes c the connector of a source that is one document, read only if it changed. decode makes a Doc of a body: it
// is pure, at is the time of the fetch, and dropped counts rows that made no sense.
func document[D any, P interface {
	*D
	Doc
}](c Connector, url string, decode func(body io.Reader, at time.Time) (doc P, dropped int, err error)) Connector {
	c.New, c.Asks = func() Doc { return P(new(D)) }, []Ask{{URL: url}}
	c.read = func(ctx context.Context, a *attempt, last Doc) (Doc, int, error) {
		var doc P
		var dropped int
		r := request{URL: url, Limit: c.limit, IfChanged: last != nil}
		err := a.Get(ctx, r, func(body io.Reader) (err error) {
			doc, dropped, err = decode(body, a.At)
			return err
		})
		return doc, dropped, err
	}
	return c
}

func capRows[R any](rows []R) []R { return rows[:min(len(rows), maxRows)] }
