package programs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// rotator replaces a key with credits again and again at a demo that is killed.
type rotator struct {
	buyer
	console *sdk.Console
	owner   string
	key     *api.IssuedKey // the newest that was answered
}

// enter signs a new owner in, who gets a key with credits.
func (r *rotator) enter(info demo.Info, life int, credits int64) {
	r.t.Helper()
	r.session, r.mail = "", fmt.Sprintf("killed-%d@example.org", life)
	var err error
	if r.console, err = r.buyer.console(r.t.Context(), info); err != nil {
		r.t.Fatal(err)
	}
	session, err := r.console.Session(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if r.key, err = r.console.CreateKey(r.t.Context(), "rotated", ""); err != nil {
		r.t.Fatal(err)
	}
	r.owner = session.UserID
	o, err := admin.Open(r.t.Context(), admin.Config{DataDir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	ask := admin.MoveRequest{Kind: billing.KindGrant, Amount: credits, Reason: "to rotate"}
	if _, err := o.MoveCredits(r.t.Context(), r.key.KeyID, ask); err != nil {
		r.t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// live replaces the key and calls with the new one until that fails: the demo was killed.
func (r *rotator) live(ctx context.Context, info demo.Info) (rotated, called int64) {
	const most = api.MaxNewKeys - 10 // of a day
	for rotated < most {
		next, err := r.console.RotateKey(ctx, r.key.KeyID, sdk.Rotation{Grace: time.Duration(rotated%2) * time.Second})
		if err != nil {
			return rotated, called
		}
		r.key = next
		rotated++
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithAPIKey(sdk.NewKey(next.Key)), sdk.WithRetries(0),
			sdk.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
		if err != nil {
			return rotated, called
		}
		if _, err := client.Cite(ctx, "", 1); err != nil {
			return rotated, called
		}
		called++
	}
	<-ctx.Done()
	return rotated, called
}

// check compares the books in the data directory, which nobody else has open, with what was seen: no credit is lost or there twice, and
// all that are left are on the one key that is not replaced.
func (r *rotator) check(credits, called int64) {
	r.t.Helper()
	s, err := store.Open(r.t.Context(), r.dir, time.Now())
	if err != nil {
		r.t.Fatalf("the databases do not open: %v", err)
	}
	defer s.Close()
	if findings, err := s.Audit(r.t.Context()); err != nil || len(findings) > 0 {
		r.t.Errorf("the audit finds %v, %v", findings, err)
	}
	usage, err := s.Usage(r.t.Context(), r.owner, time.Now().Add(-48*time.Hour))
	if err != nil {
		r.t.Fatal(err)
	}
	var counted int64
	for _, row := range usage {
		counted += row.Calls
	}
	if counted < called || counted > called+1 {
		r.t.Errorf("%d calls were answered, %d counted", called, counted)
	}
	keys, err := s.Keys(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	working := 0
	for _, k := range keys {
		if k.OwnerID != r.owner || k.Name != "rotated" {
			continue
		}
		have, _, err := s.Balance(r.t.Context(), r.owner, k.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		want := int64(0)
		if k.RevokesAt.IsZero() && k.RevokedAt.IsZero() {
			working++
			want = credits - counted
		}
		if have != want {
			r.t.Errorf("key %s, which ends at %v, has %d credits, want %d", k.ID, k.RevokesAt, have, want)
		}
	}
	if working != 1 {
		r.t.Errorf("%d keys are not replaced, want 1", working)
	}
}

// TestKillWhileKeysRotate kills the program while a key with credits is replaced again and again. At whatever point that is, the books
// balance, and the credits are on one key.
func TestKillWhileKeysRotate(t *testing.T) {
	t.Parallel()
	const credits = 1000
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	r := &rotator{buyer: buyer{t: t, dir: oldDemo(t), listen: listen}}
	random := rand.New(rand.NewPCG(3, uint64(rounds())))
	var all int64
	for life := range rounds() {
		c, info, _ := r.start()
		r.enter(info, life, credits)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		var rotated, called int64
		go func() {
			rotated, called = r.live(ctx, info)
			close(done)
		}()
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		cancel()
		<-done
		all += rotated
		r.check(credits, called)
	}
	t.Logf("%d kills, %d keys replaced", rounds(), all)
}
