package sdk

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Left holds the remaining calls of a key, from the headers of an answer.
type Left struct {
	Credits   *int64        // of the owner of the key; nil where the call took none
	Today     *int64        // credits that the key may spend today; nil where it has no bound
	FreeCalls *int64        // nil where the call was none of the free ones
	Reset     time.Duration // until there is one free call more
	Unmetered bool          // calls with the key are counted and not charged
}

// Left returns the calls left to the key of r. It is zero for a failure, and for services too old to report it. WithResponse provides r.
func (r *Response) Left() Left {
	if r.Status/100 != 2 {
		return Left{}
	}
	return leftIn(r.Header)
}

// leftIn reads the headers of an answer to a call with a key.
func leftIn(h http.Header) (l Left) {
	l.Credits, l.FreeCalls = whole(h.Get(api.HeaderCreditsLeft)), whole(h.Get(api.HeaderFreeLeft))
	l.Today = whole(h.Get(api.HeaderDailyLeft))
	if seconds := whole(h.Get(api.HeaderFreeReset)); seconds != nil {
		l.Reset = time.Duration(*seconds) * time.Second
	}
	// A service that says nothing to a key names the headers nevertheless; an older one does not know them, and charges.
	l.Unmetered = l.Credits == nil && l.FreeCalls == nil && h.Get(api.HeaderReplayed) == "" &&
		strings.Contains(h.Get("Access-Control-Expose-Headers"), api.HeaderCreditsLeft)
	return l
}

// whole is a whole number of 0 or more, nil if text is none.
func whole(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
