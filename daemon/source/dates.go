package source

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Dates compares the clocks of those who answer with ours. It is safe for concurrent use.
type Dates struct {
	Now func() time.Time

	mu    sync.Mutex // guards skews
	skews []time.Duration
}

// Note notes the time of an answer.
func (d *Dates) Note(resp *http.Response) {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.skews = append(d.skews, d.Now().Sub(at))
	}
}

// Skew is how far our clock is ahead, by the answer in the middle; known is false without an answer.
func (d *Dates) Skew() (skew time.Duration, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.skews) == 0 {
		return 0, false
	}
	slices.Sort(d.skews)
	return d.skews[len(d.skews)/2], true
}
