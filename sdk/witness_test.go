package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
)

// testWitness is a witness with a memory.
type testWitness struct {
	*sdk.Witness
	*httptest.Server
	logs map[string]sdk.WitnessedLog
	full error // of saving
}

// newWitness starts a witness that trusts the log l.
func newWitness(t testing.TB, name string, l *testLog) *testWitness {
	t.Helper()
	key, err := sdk.NewWitnessKey(name)
	if err != nil {
		t.Fatal(err)
	}
	if key, err = sdk.ReadWitnessKey(key.Secret() + "\n"); err != nil {
		t.Fatal(err)
	}
	w := &testWitness{logs: map[string]sdk.WitnessedLog{l.origin: {Key: l.key}}}
	w.Witness = &sdk.Witness{Key: key, Now: func() time.Time { return logBegin() },
		Load: func(origin string) (sdk.WitnessedLog, error) { return w.logs[origin], nil },
		Save: func(origin string, log sdk.WitnessedLog) error {
			if w.full == nil {
				w.logs[origin] = log
			}
			return w.full
		}}
	w.Server = httptest.NewServer(w.Witness)
	t.Cleanup(w.Close)
	return w
}

// ask has the witness cosign the newest checkpoint of l.
func (w *testWitness) ask(t testing.TB, l *testLog, old int64) string {
	t.Helper()
	line, err := w.asked(t.Context(), l, old)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (w *testWitness) asked(ctx context.Context, l *testLog, old int64) (string, error) {
	c, err := sdk.OpenCheckpoint(l.checkpoint(len(l.leaves)), l.key)
	if err != nil {
		return "", err
	}
	service, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(l.URL))
	if err != nil {
		return "", err
	}
	return sdk.AskWitness(ctx, http.DefaultClient, w.URL, w.Key.Public(), c.Text, old, func(ctx context.Context, old int64) ([]string, error) {
		return service.Log("crypto").Consistency(ctx, c, min(old, c.Size))
	})
}

// TestWitness has a witness cosign a log as it grows, and not its fork.
func TestWitness(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 3, "a")
	w := newWitness(t, "w.test/1", l)
	for _, more := range []int{0, 0, 1, 300} { // the second time it is asked for what it has signed
		l.grow(t, more, "a")
		signed := l.checkpoint(len(l.leaves)) + w.ask(t, l, 0)
		c, err := sdk.OpenCheckpoint(signed, l.key, w.Key.Public())
		if err != nil || len(c.Witnesses) != 1 || c.Unknown != 0 || c.NeedWitnesses(1) != nil {
			t.Fatalf("%v: %+v of\n%s", err, c, signed)
		}
		if got := c.Witnesses[0]; got.Name != "w.test/1" || got.Key != w.Key.Public() || !got.At.Equal(logBegin()) {
			t.Errorf("the signature is told as %+v", got)
		}
		if reasonOf(c.NeedWitnesses(2)) != "witnesses_missing" {
			t.Error("one witness is two")
		}
		if c, err = sdk.OpenCheckpoint(signed, l.key); err != nil || len(c.Witnesses) != 0 || c.Unknown != 1 || c.NeedWitnesses(1) == nil {
			t.Errorf("without its key: %v, %+v", err, c)
		}
	}
	fork := l.fork(t)
	l.grow(t, 1, "a")
	fork.grow(t, 1, "b")
	w.ask(t, l, 0)
	if line, err := w.asked(t.Context(), fork, 0); line != "" || err == nil || !strings.Contains(err.Error(), "another history") {
		t.Errorf("the fork of the same size is signed: %q, %v", line, err)
	}
	fork.grow(t, 1, "b")
	if line, err := w.asked(t.Context(), fork, 0); line != "" || err == nil {
		t.Errorf("the fork is signed: %q, %v", line, err)
	}
	w.full = errors.New("no room")
	l.grow(t, 1, "a")
	if line, err := w.asked(t.Context(), l, 0); line != "" || err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("it signs what it cannot remember: %q, %v", line, err)
	}
}

// TestAddCheckpoint tells the statuses of C2SP tlog-witness.
func TestAddCheckpoint(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 5, "a")
	w := newWitness(t, "w.test/1", l)
	w.ask(t, l, 0)
	five := l.checkpoint(5)
	l.grow(t, 3, "a")
	c := l.head(t)
	proof, err := l.of(t).Consistency(t.Context(), c, 5)
	if err != nil || len(proof) == 0 {
		t.Fatal(err, proof)
	}
	good := strings.Join(proof, "\n") + "\n"
	other, strange := newTestLog(t, logOrigin), newTestLog(t, "contextd/1/crypto")
	other.grow(t, 8, "a")
	strange.grow(t, 1, "a")
	fork := l.fork(t)
	fork.leaves, fork.hashes = nil, nil
	fork.grow(t, 8, "b")
	for what, try := range map[string]struct {
		body   string
		status int
		answer string
	}{
		"empty":                    {"", 400, ""},
		"no old":                   {"5\n\n" + c.Text, 400, ""},
		"old of a sign":            {"old +5\n" + good + "\n" + c.Text, 400, ""},
		"old below 0":              {"old -1\n" + good + "\n" + c.Text, 400, ""},
		"a proof that is no hash":  {"old 5\nabc\n\n" + c.Text, 400, ""},
		"64 hashes":                {"old 5\n" + strings.Repeat(known44+"\n", 64) + "\n" + c.Text, 400, ""},
		"old over the size":        {"old 9\n" + good + "\n" + c.Text, 400, ""},
		"another log":              {"old 0\n\n" + strange.checkpoint(1), 404, ""},
		"another key":              {"old 5\n" + good + "\n" + other.checkpoint(8), 403, ""},
		"no signature":             {"old 5\n" + good + "\n" + strings.Split(c.Text, "\n\n")[0] + "\n\n", 403, ""},
		"another old size":         {"old 4\n" + good + "\n" + c.Text, 409, "5\n"},
		"old 0":                    {"old 0\n\n" + c.Text, 409, "5\n"},
		"a proof that is wrong":    {"old 5\n" + strings.Repeat(known44+"\n", len(proof)) + "\n" + c.Text, 422, ""},
		"no proof":                 {"old 5\n\n" + c.Text, 422, ""},
		"a proof of nothing":       {"old 5\n" + good + "\n" + five, 422, ""},
		"a fork":                   {"old 5\n" + good + "\n" + fork.checkpoint(8), 422, ""},
		"a fork of the same size":  {"old 5\n\n" + fork.checkpoint(5), 409, "5\n"},
		"a checkpoint from before": {"old 5\n\n" + l.checkpoint(4), 400, ""},
		"the same again":           {"old 5\n\n" + five, 200, "— w.test/1 "},
	} {
		resp, err := http.Post(w.URL+"/add-checkpoint", "text/plain", strings.NewReader(try.body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != try.status || !strings.HasPrefix(string(text), try.answer) {
			t.Errorf("%s: %d %q, want %d %q", what, resp.StatusCode, text, try.status, try.answer)
		}
		if try.status == 409 && resp.Header.Get("Content-Type") != "text/x.tlog.size" {
			t.Errorf("%s: %v", what, resp.Header)
		}
	}
	if _, err := w.Add([]byte("old 5\n" + good + "\n" + c.Text)); err != nil {
		t.Error("the good one:", err)
	}
}

// TestWitnessKeyHides keeps the private key out of what is printed.
func TestWitnessKeyHides(t *testing.T) {
	t.Parallel()
	key, err := sdk.NewWitnessKey("w.test/1")
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.SplitN(key.Secret(), "+", 4)[3] // base64, with + in it
	if text := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(text, secret) || !strings.Contains(text, key.Public()) {
		t.Error("it is shown")
	}
	for _, bad := range []string{"", "a b", "a+b", "é", strings.Repeat("a", 201)} {
		if _, err := sdk.NewWitnessKey(bad); err == nil {
			t.Errorf("a witness is called %q", bad)
		}
	}
	for _, bad := range []string{"", "x", key.Public()[1:], key.Public() + "=", "PRIVATE+WITNESS+a+AA=="} {
		if _, err := sdk.ParseWitnessKey(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
		if _, err := sdk.ReadWitnessKey(bad); err == nil {
			t.Errorf("%q is a private key", bad)
		}
	}
}

func FuzzAddCheckpoint(f *testing.F) {
	l := newTestLog(f, logOrigin)
	l.grow(f, 3, "a")
	f.Add([]byte("old 0\n\n" + l.checkpoint(3)))
	f.Add([]byte("old 1\n" + known44 + "\n\n" + l.checkpoint(3)))
	w := newWitness(f, "w.test/1", l)
	f.Fuzz(func(t *testing.T, body []byte) {
		w.logs[l.origin] = sdk.WitnessedLog{Key: l.key}
		if line, err := w.Add(body); err == nil && (line == "" || !strings.Contains(string(body), l.checkpoint(3)[:60])) {
			t.Errorf("it signs %q", body)
		}
	})
}
