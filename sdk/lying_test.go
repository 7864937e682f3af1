package sdk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestLeafThatLies: what a log signs is not yet a leaf of its place, pack and version.
func TestLeafThatLies(t *testing.T) {
	t.Parallel()
	good := api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", Seq: 1, State: hexOf("x")}
	for what, change := range map[string]func(*api.LogLeaf){
		"of ai":         func(l *api.LogLeaf) { l.Pack = "ai" },
		"of no pack":    func(l *api.LogLeaf) { l.Pack = "" },
		"version 2":     func(l *api.LogLeaf) { l.V = 2 },
		"another place": func(l *api.LogLeaf) { l.Seq = 0 },
		"below 0":       func(l *api.LogLeaf) { l.Seq = -1 },
		"past the end":  func(l *api.LogLeaf) { l.Seq = 3 },
	} {
		l, leaf := newTestLog(t, logOrigin), good
		l.grow(t, 1, "a")
		change(&leaf)
		l.add(t, leaf)
		l.grow(t, 1, "a")
		if _, err := sdk.VerifyEntry(l.entry(1), l.key); reasonOf(err) != "proof_invalid" {
			t.Errorf("%s: %v", what, err)
		}
		if what == "of ai" {
			continue // only of an entry it is said which log it is of
		}
		for n, err := range l.of(t).Leaves(t.Context(), l.head(t), 1, 2) {
			if reasonOf(err) != "proof_invalid" {
				t.Errorf("%s among the leaves: %+v, %v", what, n, err)
			}
		}
	}
}

// TestCheckpointThatLies: a signature is not yet a checkpoint of that log.
func TestCheckpointThatLies(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	for text, good := range map[string]bool{
		logOrigin + "\n5\n" + known44 + "\n":             true,
		logOrigin + "\n5\n" + known44 + "\nmore\n":       true,
		"contextd/1/crypto\n5\n" + known44 + "\n":        false,
		"\n5\n" + known44 + "\n":                         false,
		logOrigin + "\n05\n" + known44 + "\n":            false,
		logOrigin + "\n-5\n" + known44 + "\n":            false,
		logOrigin + "\n5\n":                              false,
		logOrigin + "\n5\n" + known44[:42] + "V=\n":      false, // bits that say nothing
		logOrigin + "\n99999999999999999999\n" + known44: false,
	} {
		signed, err := note.Sign(&note.Note{Text: strings.TrimSuffix(text, "\n") + "\n"}, l.signer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sdk.OpenCheckpoint(string(signed), l.key); good != (err == nil) || !good && reasonOf(err) != "proof_invalid" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeysThatLie: a key has one form, and counts once.
func TestKeysThatLie(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 3, "a")
	w := newWitness(t, "w.test/1", l)
	signed, key := l.checkpoint(3)+w.ask(t, l, 0), w.Key.Public()
	if c, err := sdk.OpenCheckpoint(signed, l.key, key, key); err != nil || len(c.Witnesses) != 1 {
		t.Errorf("a witness that is named twice: %+v, %v", c, err)
	}
	broken := func(key string) string { return key[:len(key)-4] + "\n" + key[len(key)-4:] }
	if _, err := sdk.ParseLogKey(broken(l.key)); err == nil {
		t.Error("a key of a log in two lines")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(key, "+", 3)[2])
	if err != nil {
		t.Fatal(err)
	}
	spelled := func(name string, kind byte) string {
		sum := sha256.Sum256(append([]byte(name+"\n\x04"), raw[1:]...))
		return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(append([]byte{kind}, raw[1:]...)))
	}
	if spelled("w.test/1", 4) != key {
		t.Fatalf("%s is not %s", spelled("w.test/1", 4), key)
	}
	for _, bad := range []string{broken(key), spelled("w.test/1", 1), spelled("w test", 4), spelled("", 4)} {
		if _, err := sdk.ParseWitnessKey(bad); err == nil {
			t.Errorf("%q is the key of a witness", bad)
		}
	}
}

// TestServiceThatFails: an answer that is not there proves nothing, either way; one that is wrong says what it is held against.
func TestServiceThatFails(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	if _, err := l.of(t).Newest(t.Context()); reasonOf(err) != "proof_invalid" {
		t.Errorf("the newest leaf of none: %v", err)
	}
	l.grow(t, 299, "a")
	known := l.head(t)
	l.grow(t, 1, "a")
	now := l.head(t)
	spoil := func(change func(answer []byte) []byte, paths ...string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spoil = func(path string, answer []byte) []byte {
			for _, part := range paths {
				if strings.Contains(path, part) {
					return change(answer)
				}
			}
			return answer
		}
	}
	spoil(func([]byte) []byte { return nil }, "/tile/")
	if err := l.of(t).Follow(t.Context(), known, now); err == nil || errors.Is(err, sdk.ErrUnproven) {
		t.Errorf("tiles that are not there: %v", err)
	}
	spoil(func(answer []byte) []byte { return answer[:10] }, "/tile/")
	var p *sdk.ProofError
	if err := l.of(t).Follow(t.Context(), known, now); !errors.As(err, &p) || p.Known != known || p.Now != now {
		t.Errorf("tiles that are cut: %v", err)
	}
	for _, change := range []func([]byte) []byte{
		func(b []byte) []byte { return append(bytes.Clone(b), 0) },
		func(b []byte) []byte { return b[:2+len(l.leaves[256])] },
	} {
		spoil(change, "/entries/001")
		for _, err := range l.of(t).Leaves(t.Context(), now, 298, 300) {
			if err != nil && reasonOf(err) != "proof_invalid" || err == nil {
				t.Errorf("leaves that are not whole: %v", err)
			}
		}
	}
	for _, size := range []int64{-1, 301} {
		if _, err := l.of(t).RootAt(t.Context(), now, size); reasonOf(err) != "proof_invalid" {
			t.Errorf("the root at %d: %v", size, err)
		}
	}
}

// TestLogThatTakesAPlace: a log that is empty, or shows another leaf as its first, does not say what it follows.
func TestLogThatTakesAPlace(t *testing.T) {
	t.Parallel()
	old := newTestLog(t, logOrigin)
	old.grow(t, 10, "a")
	known := old.head(t)
	l := newTestLog(t, "contextd/ffffffffffffffff/crypto")
	if got := reasonOf(l.of(t).Follow(t.Context(), known, l.head(t))); got != "log_replaced" {
		t.Errorf("an empty log: %q", got)
	}
	l.grow(t, 1, "b")
	l.add(t, api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", Seq: 1, State: hexOf("x"), Previous: &api.LogHead{Origin: logOrigin, Size: 9}})
	second, _ := l.answer("leaf/1", "")
	l.spoil = func(path string, answer []byte) []byte {
		if strings.HasSuffix(path, "/leaf/0") {
			return second
		}
		return answer
	}
	if got := reasonOf(l.of(t).Follow(t.Context(), known, l.head(t))); got != "log_replaced" {
		t.Errorf("its second leaf for its first: %q", got)
	}
	l = newTestLog(t, "contextd/ffffffffffffffff/crypto")
	l.add(t, api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", State: hexOf("x"), Previous: &api.LogHead{Origin: logOrigin, Size: 9}})
	if err := l.of(t).Follow(t.Context(), known, l.head(t)); err == nil || !strings.Contains(err.Error(), "states 9 to 9") {
		t.Errorf("what was dropped: %v", err)
	}
}

// TestLogsNeedNoKey: the routes of a log are asked without the key of the client, and without its check, which asks them.
func TestLogsNeedNoKey(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 1, "a")
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s is asked with a key", r.URL)
		}
		w.Header().Set(api.HeaderProof, "nonsense")
		l.ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	key := sdk.NewKey("cv_test_" + strings.Repeat("a", 32))
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(service.URL), sdk.WithAPIKey(key), sdk.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Log("crypto").Newest(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWitnessThatLies: neither a witness whose memory is damaged nor the signature of another checkpoint counts, and its routes are one.
func TestWitnessThatLies(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 3, "a")
	w := newWitness(t, "w.test/1", l)
	before := w.ask(t, l, 0)
	l.grow(t, 1, "a")
	later := l.checkpoint(4)
	stale := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, before) }))
	t.Cleanup(stale.Close)
	none := func(context.Context, int64) ([]string, error) { return nil, nil }
	if line, err := sdk.AskWitness(t.Context(), http.DefaultClient, stale.URL, w.Key.Public(), later, 0, none); err == nil {
		t.Errorf("a signature of another checkpoint: %q", line)
	}
	w.Witness.Now = func() time.Time { return time.Unix(1<<40, 0) }
	if line, err := w.asked(t.Context(), l, 0); err == nil {
		t.Errorf("a signature of the year 36812: %q", line)
	}
	for path, want := range map[string]int{"/add-checkpoint": http.StatusMethodNotAllowed, "/": http.StatusNotFound} {
		resp, err := http.Get(w.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("GET %s: %d", path, resp.StatusCode)
		}
	}
	w.logs[l.origin] = sdk.WitnessedLog{Key: l.key, Checkpoint: "damaged"}
	if line, err := w.Add([]byte("old 0\n\n" + later)); err == nil {
		t.Errorf("it signs what it cannot compare: %q", line)
	}
}
