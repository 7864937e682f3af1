package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/tui"
)

// TestProven shows that a state is proven, looks once at each, does not take the proof of one state for another's, and warns, for good, of
// a log that is not the one that was known.
func TestProven(t *testing.T) {
	t.Parallel()
	type verdict struct {
		holds  bool
		broken error
	}
	verdicts := make(chan verdict)
	var looks atomic.Int64
	d := live(t, 120, 40, func(c *tui.Config) {
		c.Prove = func(ctx context.Context, pack string, made time.Time, state []byte) (bool, error) {
			looks.Add(1)
			if pack != "crypto" || made.IsZero() || len(state) == 0 {
				return false, errors.New("what is asked for is no state")
			}
			select {
			case v := <-verdicts:
				return v.holds, v.broken
			case <-ctx.Done():
				return false, nil
			}
		}
	})
	proven := func(string) bool { return strings.Contains(d.top(), " proven") }
	const warning = "do not rely on this service: the log has two histories"
	for i, tt := range []struct {
		verdict
		warns bool // from then on
	}{
		{verdict{true, nil}, false}, {verdict{true, nil}, false}, {verdict{false, nil}, false},
		{verdict{false, errors.New("the log has two histories")}, true}, {verdict{true, nil}, true},
	} {
		if i > 0 { // that of live is the first
			d.fake.events <- delta([]json.RawMessage{state(t), moved(t)}[i%2], time.Duration(10-i)*time.Second)
		}
		d.until(fmt.Sprintf("look %d", i+1), func(string) bool { return looks.Load() == int64(i+1) })
		if v := d.view(); proven("") || strings.Contains(v, warning) != (tt.warns && i == 4) {
			t.Fatalf("state %d is said to be proven while that is looked at\n%s", i+1, v)
		}
		verdicts <- tt.verdict
		switch {
		case tt.warns:
			d.shows(warning)
		case tt.holds:
			d.until(fmt.Sprintf("state %d proven", i+1), proven)
		}
		if i == 4 { // and it comes again
			d.fake.events <- delta(state(t), 6*time.Second)
		}
		if i%2 == 0 {
			d.tick()
		}
		if v := d.view(); proven("") != (tt.holds && !tt.warns) || strings.Contains(v, warning) != tt.warns {
			t.Errorf("after look %d, %+v\n%s", i+1, tt.verdict, v)
		}
		if n := looks.Load(); n != int64(i+1) {
			t.Errorf("looked %d times at %d states", n, i+1)
		}
	}
}

// tick takes messages until the second is over.
func (d *program) tick() {
	d.t.Helper()
	ticked := false
	for patience := time.After(10 * time.Second); !ticked; {
		select {
		case msg := <-d.msgs:
			ticked = fmt.Sprintf("%T", msg) == "tui.tickMsg"
			d.apply(msg)
		case <-patience:
			d.t.Fatal("no second ends")
		}
	}
}
