package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// said is what an answer says that a leaf can prove.
type said struct {
	State json.RawMessage
	Brief string
}

// proves checks that the leaf that p names is in the log and says the same as an answer.
func proves(t *testing.T, d *daemontest.Daemon, p api.Proof, what said) {
	t.Helper()
	entry := decode[api.LogEntry](t, get(t, fmt.Sprintf("%s/log/crypto/leaf/%d", d.URL(), p.Seq)))
	proven, err := sdk.VerifyEntry(entry, "")
	if err != nil {
		t.Fatal(err)
	}
	if c := proven.Checkpoint; c.Origin != p.Log || proven.Hash != p.Leaf {
		t.Errorf("%+v names another leaf than %s of %s", p, proven.Hash, c.Origin)
	}
	if what.State != nil && p.Scope == "" {
		err = proven.IsOfState(what.State)
	}
	if err == nil && what.Brief != "" {
		err = proven.IsOfBrief(what.Brief)
	}
	if err != nil {
		t.Errorf("%+v: %v", p, err)
	}
}

// proven checks the proof of an answer, and returns it.
func proven(t *testing.T, d *daemontest.Daemon, a answer, scope string) api.Proof {
	t.Helper()
	p, err := api.ParseProof(a.Header.Get(api.HeaderProof))
	if a.Status != http.StatusOK || err != nil || p.Scope != scope || p.String() != a.Header.Get(api.HeaderProof) {
		t.Fatalf("%d, %s is %q, want one with scope %q: %v", a.Status, api.HeaderProof, a.Header.Get(api.HeaderProof), scope, err)
	}
	proves(t, d, p, decode[said](t, a))
	return p
}

// TestProof: the leaf that an answer names is in the log and has the hash of just that answer, now, later, in a stream and for a payment.
func TestProof(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	key := bearer(m.d.Key(t, api.TierTeam))
	s := m.sign(m.chain.Wallet(), m.offer("/v1/fresh"))
	sold := m.settled("/v1/fresh", s, false)
	first := proven(t, m.d, sold, "")
	quoted := m.pay(m.quote("/v1/brief"))
	brief := m.paid("/v1/brief", quoted, false)
	after := proven(t, m.d, brief, "") // it was written once more, and has a leaf for that
	then := decode[api.StateResponse](t, sold).Freshness.GeneratedAt
	later := m.sign(m.chain.Wallet(), m.offer("/v1/brief?claims=true"))
	proven(t, m.d, m.settled("/v1/brief?claims=true", later, false), api.ScopeFull)

	time.Sleep(2 * time.Millisecond) // no two states are of one millisecond
	if err := m.d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	for path, scope := range map[string]string{
		"/v1/fresh": "", "/v1/brief": "", "/v1/fresh?members=flags": api.ScopeFull, "/v1/fresh?claims=true": api.ScopeFull,
		"/v1/brief?claims=true": api.ScopeFull,
	} {
		if p := proven(t, m.d, get(t, m.d.URL()+path, key), scope); p.Seq != after.Seq+1 || p.Log != first.Log {
			t.Errorf("%s is proven by %+v, the state before by %+v", path, p, first)
		}
	}
	at := "/v1/snapshot?at=" + then.Format(time.RFC3339Nano)
	if p := proven(t, m.d, get(t, m.d.URL()+at, key), ""); p != first {
		t.Errorf("of then, %+v, want %+v", p, first)
	}
	again := m.settled("/v1/fresh", s, true)
	if p := proven(t, m.d, again, ""); p != first {
		t.Errorf("given again it is proven by %+v, and was by %+v", p, first)
	}
	for _, a := range []answer{sold, again} {
		if r := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement); r.Extensions.Proof != first {
			t.Errorf("the receipt is %+v, and names no leaf %+v", r, first)
		}
	}
	if p := proven(t, m.d, m.paid("/v1/brief", quoted, true), ""); p != after {
		t.Errorf("given again the brief is proven by %+v, and was by %+v", p, after)
	}
	again = m.settled("/v1/brief?claims=true", later, true)
	p := proven(t, m.d, again, api.ScopeFull)
	if r := unwrap[api.StandardReceipt](t, again, api.HeaderSettlement); p.Seq != after.Seq || r.Extensions.Proof != p {
		t.Errorf("given again the brief is proven by %+v, and was by %+v; the receipt is %+v", p, after, r)
	}
	withState := m.pay(m.quote("/v1/brief"))
	newest := proven(t, m.d, m.paid("/v1/brief", withState, false), "")
	time.Sleep(2 * time.Millisecond)
	if err := m.d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if p := proven(t, m.d, m.paid("/v1/brief", withState, true), ""); p != newest || p.Seq != after.Seq+1 {
		t.Errorf("given again the brief of a state is proven by %+v, and was by %+v", p, newest)
	}
	for _, path := range []string{"/v1/search?q=bitcoin", "/v1/lookup?q=ada", "/v1/cite?ref=1"} {
		if a := get(t, m.d.URL()+path, key); a.Header.Get(api.HeaderProof) != "" {
			t.Errorf("%s is proven by %s", path, a.Header.Get(api.HeaderProof))
		}
	}
}

// TestBriefInAStream: each state of a stream comes with the newest brief where that is asked for, and without it where not.
func TestBriefInAStream(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	token := d.Key(t, api.TierTeam)
	var brief api.BriefResponse
	if err := json.Unmarshal(get(t, d.URL()+"/v1/brief", bearer(token)).Body, &brief); err != nil || brief.Brief == "" {
		t.Fatalf("%+v, %v", brief, err)
	}
	for query, want := range map[string]bool{"&brief=true": true, "&brief=1&members=flags": true, "": false, "&brief=false": false} {
		told := firstState(t, d, token, query)
		if got := told.Brief == brief.Brief && told.BriefAt != nil && told.BriefAt.Equal(*brief.BriefAt) && len(told.Citations) == len(brief.Citations); got != want {
			t.Errorf("%s: a brief %q of %v with %d citations", query, told.Brief, told.BriefAt, len(told.Citations))
		}
		if !want && (told.BriefAt != nil || told.Citations != nil) {
			t.Errorf("%s: %+v", query, told)
		}
	}
	if a := get(t, d.URL()+"/v1/subscribe?brief=yes&token="+token); a.Status != http.StatusBadRequest {
		t.Errorf("brief=yes is answered %d", a.Status)
	}
}

// firstState is the first state of a stream.
func firstState(t *testing.T, d *daemontest.Daemon, token, query string) (told api.StreamState) {
	t.Helper()
	res, err := http.Get(d.URL() + "/v1/subscribe?token=" + token + query)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if want := d.Clock.Now().UTC().Format(http.TimeFormat); res.Header.Get("Date") != want {
		t.Errorf("the date is %s, want %s", res.Header.Get("Date"), want)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(text), &told); err != nil {
				t.Fatal(err)
			}
			return told
		}
	}
	t.Fatalf("%s: no state", query)
	return told
}

// TestProofInAStream: each state of a stream comes with its leaf where that is asked for, and without it where not.
func TestProofInAStream(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	token := d.Key(t, api.TierTeam)
	log := proven(t, d, get(t, d.URL()+"/v1/fresh", bearer(token)), "").Log
	for query, scope := range map[string]string{"&proof=true": "", "&proof=1&members=flags": api.ScopeFull} {
		told := firstState(t, d, token, query)
		if told.Seq == nil || told.Scope != scope {
			t.Fatalf("%s: %+v", query, told)
		}
		proves(t, d, api.Proof{Log: log, Seq: *told.Seq, Leaf: told.Leaf, Scope: told.Scope}, said{State: told.State})
	}
	for _, query := range []string{"", "&proof=false"} {
		if told := firstState(t, d, token, query); told.Seq != nil || told.Leaf != "" || told.Scope != "" {
			t.Errorf("%s: %+v", query, told)
		}
	}
	if a := get(t, d.URL()+"/v1/subscribe?proof=yes&token="+token); a.Status != http.StatusBadRequest {
		t.Errorf("proof=yes is answered %d", a.Status)
	}
}
