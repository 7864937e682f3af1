package billing

import "time"

// window counts the calls of a key, an owner or an address that are still within some time: single moments for the free window, whole hours
// for the tier volume.
type window struct {
	length time.Duration
	grain  time.Duration // calls within one grain count together and leave together
	stamps []Stamp       // oldest first
	sum    int64
	read   time.Time // when others were last asked what they have counted
}

func newWindow(length, grain time.Duration, stamps []Stamp) *window {
	w := &window{length: length, grain: grain, stamps: stamps}
	for _, s := range stamps {
		w.sum += s.Calls
	}
	return w
}

// How old the count of a window may be that others count in too: in the first half of what it may hold, and then.
const (
	oldBelowHalf = time.Minute
	oldAboveHalf = 5 * time.Second
)

// renew reads w again, of which others use up limit too, where it may be too old. What is counted here and not on disk yet is not lost: the
// higher count holds.
func (w *window) renew(now time.Time, limit int64, read func(length time.Duration) ([]Stamp, error)) error {
	age := now.Sub(w.read)
	if !w.read.IsZero() && (age < oldAboveHalf || 2*w.sum < limit && age < oldBelowHalf) {
		return nil
	}
	past, err := read(w.length)
	if err != nil {
		return err
	}
	if next := newWindow(w.length, w.grain, past); next.sum > w.sum {
		*w = *next
	}
	w.read = now
	return nil
}

func (w *window) expire(now time.Time) {
	n := 0
	for n < len(w.stamps) && !w.stamps[n].At.Add(w.length).After(now) {
		w.sum -= w.stamps[n].Calls
		n++
	}
	w.stamps = w.stamps[n:]
}

// add counts n calls at now and returns the moment from which they count.
func (w *window) add(now time.Time, n int64) time.Time {
	w.sum += n
	at := now.Truncate(w.grain)
	// The clock may have been set back; the window never runs backwards.
	if last := len(w.stamps) - 1; last >= 0 && !w.stamps[last].At.Before(at) {
		w.stamps[last].Calls += n
		return w.stamps[last].At
	}
	w.stamps = append(w.stamps, Stamp{At: at, Calls: n})
	return at
}

// take forgets the last n calls that were counted.
func (w *window) take(n int64) {
	w.sum -= n
	for last := len(w.stamps) - 1; last >= 0 && n > 0; last-- {
		some := min(n, w.stamps[last].Calls)
		n -= some
		if w.stamps[last].Calls -= some; w.stamps[last].Calls == 0 {
			w.stamps = w.stamps[:last]
		}
	}
}

// reset is how long it takes from now until the first call leaves the window, 0 if there is none in it.
func (w *window) reset(now time.Time) time.Duration {
	if len(w.stamps) == 0 {
		return 0
	}
	return w.stamps[0].At.Add(w.length).Sub(now)
}

// wait is how long it takes from now until there is room for n more calls below limit, 0 if there is now. ok is false if there never is.
func (w *window) wait(now time.Time, limit, n int64) (wait time.Duration, ok bool) {
	w.expire(now)
	left := w.sum
	for _, s := range w.stamps {
		if left+n <= limit {
			break
		}
		left -= s.Calls
		wait = s.At.Add(w.length).Sub(now)
	}
	return wait, left+n <= limit
}
