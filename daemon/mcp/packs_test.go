package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/sdk/api"
)

// TestPacksChange: a session is told that there are other packs, and finds them in its lists; who comes later hears of them at once.
func TestPacksChange(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key, told := s.key(100), make(chan string, 10)
	c := connect(t, s.url, key, "2025-11-25", &sdk.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { told <- "tools" },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { told <- "resources" },
	})
	lists := func() string {
		t.Helper()
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resources, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{tools.Tools, resources.Resources})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	quiet := func() (heard int) { // one change may be told twice
		for {
			select {
			case <-told:
				heard++
			case <-time.After(100 * time.Millisecond):
				return heard
			}
		}
	}
	introduced := func() string {
		return connect(t, s.url, key, "2025-11-25", nil).InitializeResult().Instructions
	}
	if got := introduced(); !strings.HasPrefix(got, "Live, cited facts about one pack (crypto), renewed") {
		t.Errorf("introduced as %.80s", got)
	}
	for _, step := range []struct {
		packs   []string
		known   bool
		as      string
		changed int
	}{
		{[]string{api.PackCrypto}, false, "Live, cited facts about one pack", 0}, // first, as a change may be told once more, and late
		{[]string{api.PackCrypto, "perps"}, true, "Live, cited facts about the packs crypto, perps (Funding by venue) (argument pack; crypto if left out), renewed", 2},
		{[]string{api.PackCrypto}, false, "Live, cited facts about one pack", 2},
	} {
		s.mcp.SetPacks(step.packs)
		heard := map[string]bool{}
		for len(heard) < step.changed {
			select {
			case what := <-told:
				heard[what] = true
			case <-time.After(2 * time.Minute):
				t.Fatalf("with %q the session hears of %v alone", step.packs, heard)
			}
		}
		if more := quiet(); step.changed == 0 && more > 0 {
			t.Errorf("told %d times that nothing has changed", more)
		}
		text := lists()
		for _, part := range []string{`"enum":["crypto","perps","*"]`, "context://packs/perps/state", "context://packs/perps/brief"} {
			if strings.Contains(text, part) != step.known {
				t.Errorf("with %q the lists have %s: %t", step.packs, part, !step.known)
			}
		}
		if got := introduced(); !strings.HasPrefix(got, step.as) {
			t.Errorf("with %q introduced as %.120s", step.packs, got)
		}
	}
}
