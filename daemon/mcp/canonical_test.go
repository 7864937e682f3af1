package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// noting is a Gate that notes what a payment of a call would be for, and admits nobody.
type noting struct {
	mcp.Gate
	subjects chan x402.Subject
}

func (n noting) Admit(_ context.Context, c gate.Credentials, _ api.Op, _ string) (gate.Caller, error) {
	n.subjects <- c.Subject
	return gate.Caller{}, errors.New("nobody is admitted")
}

// subjectOf is what a payment of the call in body, made without a key, is for.
func (n noting) subjectOf(t *testing.T, s *studio, body string) x402.Subject {
	t.Helper()
	proof := `{"scheme":"x402","network":"l2chain","txHash":"0x` + strings.Repeat("ab", 32) + `","payer":"0x` + strings.Repeat("cd", 20) + `"}`
	s.post(body, api.HeaderPayment, base64.StdEncoding.EncodeToString([]byte(proof)))
	select {
	case subject := <-n.subjects:
		return subject
	default:
		t.Fatalf("nobody was asked to admit %s", body)
		return x402.Subject{}
	}
}

// newNoting opens a studio whose Gate notes.
func newNoting(t *testing.T) (noting, *studio) {
	t.Helper()
	n := noting{subjects: make(chan x402.Subject, 1)}
	return n, newStudio(t, func(c *mcp.Config) {
		n.Gate = c.Gate
		c.Gate, c.Payers.Proofs = n, web.NewLimiter(1000, time.Millisecond, c.Now)
	})
}

// linesOf are the lines of a file that release 30f57cb wrote: a call, and what it made of that.
func linesOf(t *testing.T, name string) [][2]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][2]string
	for line := range strings.Lines(string(text)) {
		request, made, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s has the line %q", name, line)
		}
		lines = append(lines, [2]string{request, made})
	}
	return lines
}

// message is the body of a recorded call: of a tool with its arguments, or of the read of a resource.
func message(request string) (method, body string) {
	name, arguments, ok := strings.Cut(request, " ")
	if !ok {
		return "resources/read", read(name)
	}
	return "tools/call", call("context."+name, arguments)
}

// TestFormerFingerprints: a payment that was asked for by 30f57cb buys what it was for, and nothing else. canonical.golden has the fingerprint
// of each call there; do not regenerate it.
func TestFormerFingerprints(t *testing.T) {
	t.Parallel()
	n, s := newNoting(t)
	lines := linesOf(t, "canonical.golden")
	if len(lines) < 50 {
		t.Fatalf("there are %d calls", len(lines))
	}
	of := map[string]string{}
	for _, line := range lines {
		request, former := line[0], line[1]
		_, body := message(request)
		got := n.subjectOf(t, s, body)
		if got.Fingerprint != former && got.Former != former {
			t.Errorf("%s does not take the payment of before: %+v", request, got)
		}
		for _, print := range []string{got.Fingerprint, got.Former} {
			if other, known := of[print]; known && other != former && print != "" {
				t.Errorf("a payment of another call buys %s", request)
			}
			of[print] = former
		}
	}
}

// TestRefusedArguments: what cannot be read is refused in the words of 30f57cb.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(1000)
	for _, line := range linesOf(t, "refusals.golden") {
		_, body := message(line[0])
		r := s.post(body, bearer(key)...).read(t)
		if !r.Result.IsError || len(r.Result.Content) != 1 {
			t.Fatalf("%s: got %+v", line[0], r)
		}
		if got, _, _ := strings.Cut(r.Result.Content[0].Text, `,"requestId"`); got != line[1] {
			t.Errorf("%s: got %s, want %s", line[0], got, line[1])
		}
	}
}

// TestToolList: tools.json is the list of tools as clients read it, byte for byte.
func TestToolList(t *testing.T) {
	t.Parallel()
	var text []byte
	for _, packs := range [][]string{{api.PackCrypto}, {api.PackCrypto, api.PackAI}} {
		list := mcp.ToolList("context", packs...)
		slices.SortFunc(list, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) }) // as the SDK lists them
		one, err := json.MarshalIndent(list, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, one...), '\n')
	}
	if *update {
		if err := os.WriteFile("testdata/tools.json", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/tools.json")
	if err != nil || !bytes.Equal(text, want) {
		t.Errorf("%v; the list is now\n%s", err, text)
	}
}

// TestClaimsArePaidApart: a payment for a brief buys none with claims, nor the other way round.
func TestClaimsArePaidApart(t *testing.T) {
	t.Parallel()
	n, s := newNoting(t)
	plain := n.subjectOf(t, s, call("context.brief", `{"pack":"crypto"}`))
	with := n.subjectOf(t, s, call("context.brief", `{"pack":"crypto","claims":true}`))
	if plain.Fingerprint == with.Fingerprint || plain.Former == with.Former {
		t.Error("one payment buys both forms")
	}
}

// stateless reads packs that have no state yet.
type stateless struct{ web.Reader }

func (stateless) Ready(api.Query) (reader.View, error) {
	return reader.View{}, api.Errorf(api.ReasonStateUnavailable, "there is no state yet")
}

// TestPaidWithoutState: who shows a payment is asked about by the gate although there is no state: its answer may be one that is kept.
func TestPaidWithoutState(t *testing.T) {
	t.Parallel()
	n := noting{subjects: make(chan x402.Subject, 1)}
	s := newStudio(t, func(c *mcp.Config) {
		n.Gate = c.Gate
		c.Gate, c.Reader = n, stateless{c.Reader}
	})
	if got := n.subjectOf(t, s, call("context.fresh", `{"pack":"crypto"}`)); got.Op != api.OpFresh {
		t.Errorf("%+v", got)
	}
}
