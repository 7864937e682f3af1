package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/state"
)

// TestNewer: what one node saves, another reads: every state once, in order, and its log as it is now.
func TestNewer(t *testing.T) {
	t.Parallel()
	place := testbed.Place(t)
	writer, reader := open(t, place), open(t, place)
	var seen state.Mark
	newer := func(states int, more bool) state.News {
		t.Helper()
		n, err := reader.Newer(t.Context(), "crypto", seen)
		if err != nil || len(n.Pulses) != states || n.More != more {
			t.Fatalf("%d states, more %v, %v; want %d, %v", len(n.Pulses), n.More, err, states, more)
		}
		seen = n.Mark
		return n
	}
	write := func(n int) state.Pulse {
		t.Helper()
		p := pulseAt(n, "x")
		asked := []state.SourceRecord{{Source: "s", AttemptedAt: p.GeneratedAt}}
		own := state.Brief{Text: "A brief.", At: p.GeneratedAt, Of: p.GeneratedAt, Writer: "rules"}
		if _, err := writer.SavePulse(t.Context(), p, own, asked); err != nil {
			t.Fatal(err)
		}
		return p
	}

	newer(0, false)
	if _, err := writer.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	write(0)
	last := write(1)
	same(t, newer(1, false).Pulses[0], last) // of what was there before, the newest alone
	newer(0, false)

	var want []state.Pulse
	for n := range 20 {
		want = append(want, write(2+n))
	}
	got := newer(16, true).Pulses
	news := newer(4, false)
	for i, p := range append(got, news.Pulses...) {
		same(t, p, want[i])
		if p.Proof.Seq != int64(2+i) {
			t.Errorf("state %d has leaf %d", i, p.Proof.Seq)
		}
	}
	last = want[len(want)-1]
	if news.Brief.Of != last.GeneratedAt || news.BriefState == nil || len(news.Sources) != 1 || news.Sources[0].AttemptedAt != last.GeneratedAt {
		t.Errorf("beside the states: %+v", news.Saved)
	}
	head := func(h *history.History, size int64) {
		t.Helper()
		if head, err := h.LogHead(t.Context(), "crypto"); err != nil || head.Size != size {
			t.Errorf("the log has %d leaves, %v; want %d", head.Size, err, size)
		}
	}
	head(reader, 22)

	write(22)
	newer(1, false)
	head(reader, 23)
	if err := writer.SaveSources(t.Context(), "crypto", []state.SourceRecord{{Source: "s", AttemptedAt: epoch().AddDate(0, 0, 1)}}); err != nil {
		t.Fatal(err)
	}
	newer(0, false)
	if !seen.Asked.Equal(epoch().AddDate(0, 0, 1)) {
		t.Errorf("asked at %s", seen.Asked)
	}

	// The reader writes on, and the writer after it.
	if _, err := writer.Prune(t.Context(), "crypto", epoch().AddDate(0, 0, 2)); err != nil {
		t.Fatal(err)
	}
	save(t, reader, pulseAt(23, "x"))
	if _, err := reader.Prune(t.Context(), "crypto", epoch().AddDate(0, 0, 2)); err != nil {
		t.Fatal(err)
	}
	writer.Forget()
	head(writer, 24)
	save(t, writer, pulseAt(24, "x"))
	same(t, newest(t, reader), pulseAt(24, "x"))
}

// TestNotify: those who listen are told of each act that was committed.
func TestNotify(t *testing.T) {
	t.Parallel()
	place := testbed.LocalPostgres(t)
	h := open(t, place)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- database.Listen(ctx, place, func(what string) { heard <- what }) }()
	wait := func() bool {
		select {
		case what := <-heard:
			if what != history.NotifyState {
				t.Errorf("heard %q", what)
			}
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	}
	save(t, h, pulseAt(0, "x"))
	for n := 1; !wait(); n++ { // until it listens
		save(t, h, pulseAt(n, "x"))
		if n == 100 {
			t.Fatal("nothing is heard")
		}
	}
	for wait() { // what else was under way
	}
	if _, err := h.SavePulse(t.Context(), pulseAt(0, "x"), state.Brief{}, nil); err == nil {
		t.Fatal("a second state of one time is taken")
	}
	if wait() {
		t.Error("an act that failed was told")
	}
	if _, err := h.SaveBrief(t.Context(), "crypto", state.Brief{Text: "x", At: epoch(), Of: epoch()}); err != nil || !wait() {
		t.Errorf("a brief was not told: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
