package history_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var leaves = flag.Int("leaves", 2*translog.Width+40, "how many states TestAnyMinute publishes; a year has 105120")

// evidence is what was taken of a minute.
type evidence struct {
	minute time.Time
	made   time.Time // the state of then
	text   []byte    // of the bundle
}

// TestAnyMinute publishes states five minutes apart, with the sources of the crypto pack, takes bundles of minutes at random on the way and
// at the end, and verifies them when history and log are gone. A year of it, in minutes of work, is
//
//	go test -run TestAnyMinute -v -timeout 2h ./daemon/store/history -leaves 105120
func TestAnyMinute(t *testing.T) {
	t.Parallel()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(20, 20))
	s := open(t, dir)
	key, err := translog.NewKey(bytes.Repeat([]byte{7}, 32))
	if err == nil {
		err = s.SignLogs(t.Context(), key.Public())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenPack(t.Context(), "crypto", epoch()); err != nil {
		t.Fatal(err)
	}
	logs := translog.NewLogs(s, key, nil)
	var taken []evidence
	m := made{next: map[string]time.Time{}, last: map[string]api.LogSource{}}
	for n := range *leaves {
		p := state.Pulse{Pack: "crypto", Version: 2, GeneratedAt: epoch().Add(time.Duration(n) * 5 * time.Minute), State: fmt.Appendf(nil, `{"n":%d}`, n)}
		p.Made = m.made(p.GeneratedAt)
		b := state.Brief{Text: fmt.Sprintf("Brief %d.", n), At: p.GeneratedAt, Of: p.GeneratedAt}
		if _, err := s.SavePulse(t.Context(), p, b, nil); err != nil {
			t.Fatal(err)
		}
		if random.IntN(*leaves) < 20 {
			taken = append(taken, take(t, s, logs, random.IntN(n+1)))
		}
	}
	for range 80 {
		taken = append(taken, take(t, s, logs, random.IntN(*leaves)))
	}
	for _, n := range []int{0, *leaves - 1} {
		taken = append(taken, take(t, s, logs, n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size := fileSize(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var worst time.Duration
	for _, e := range taken {
		begin := time.Now()
		b, proven, err := sdk.VerifyBundle(e.text, "")
		worst = max(worst, time.Since(begin))
		if err != nil || !proven.Leaf.GeneratedAt.Equal(e.made) || !bytes.Contains(b.State, []byte(`"n"`)) {
			t.Fatalf("of %s: %+v, %v", e.minute, proven, err)
		}
		bad := bytes.Clone(e.text)
		bad[random.IntN(len(bad))] ^= 1
		if _, _, err := sdk.VerifyBundle(bad, ""); err == nil {
			t.Errorf("of %s: it verifies with a byte changed", e.minute)
		}
	}
	t.Logf("%d leaves with next to no states take %.1f MB; %d bundles of them, verified in at most %s", *leaves, float64(size)/1e6, len(taken), worst)
}

// take is the bundle of a minute of the five that state n was the newest in.
func take(t *testing.T, s *history.History, logs *translog.Logs, n int) evidence {
	t.Helper()
	e := evidence{made: epoch().Add(time.Duration(n) * 5 * time.Minute)}
	e.minute = e.made.Truncate(time.Minute).Add(time.Duration(n%5) * time.Minute)
	said, err := logs.At(t.Context(), "crypto", e.minute.Format("2006-01-02T15:04"))
	b := sdk.Bundle{Brief: fmt.Sprintf("Brief %d.", n)}
	if err == nil {
		err = json.Unmarshal(said.Text, &b.LogEntry)
	}
	if err != nil {
		t.Fatalf("of %s: %v", e.minute, err)
	}
	p, err := s.PulseBefore(t.Context(), "crypto", e.minute.Add(time.Minute))
	if err != nil || !p.GeneratedAt.Equal(e.made) {
		t.Fatalf("of %s: %v, %v", e.minute, p.GeneratedAt, err)
	}
	b.State = p.State
	if e.text, err = b.Encode(); err != nil {
		t.Fatal(err)
	}
	return e
}
