package programs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	mcp "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/contextd/contextd/sdk/api"
)

// agents call tools over MCP, one in a session that is opened again after every kill, one without any.
func (s *soak) agents(ctx context.Context, all *sync.WaitGroup) {
	key := issueWithCredits(s.t, s.dir, "agents", soakCredits)
	all.Go(func() {
		s.until(ctx, "session of MCP", time.Second, func(ctx context.Context) error { return s.session(ctx, key) })
	})
	all.Go(func() {
		s.until(ctx, "tool without a session", 20*time.Millisecond, func(ctx context.Context) error {
			return s.callTool(ctx, key)
		})
	})
}

// session opens a session and calls tools in it until something fails.
func (s *soak) session(ctx context.Context, key string) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	withKey := &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: key}), Base: transport}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + s.listen + api.PathMCP, HTTPClient: &http.Client{Transport: withKey},
	}, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	tools, err := c.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	name := ""
	for _, t := range tools.Tools {
		if strings.HasSuffix(t.Name, string(api.OpCite)) {
			name = t.Name
		}
	}
	for end := time.Now().Add(20 * time.Second); ctx.Err() == nil && time.Now().Before(end); {
		result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"ref": 1 + rand.IntN(10)}})
		if err != nil {
			return fmt.Errorf("call tool: %w", err)
		}
		if result.IsError {
			return errors.New("the tool failed")
		}
		s.count("tool in a session")
	}
	return nil
}

// callTool calls a tool with a single POST, as curl does.
func (s *soak) callTool(ctx context.Context, key string) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.cite","arguments":{"ref":%d}}}`, 1+rand.IntN(10))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.listen+api.PathMCP, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !strings.Contains(string(text), `"structuredContent"`) {
		return fmt.Errorf("status %d: %.300s", res.StatusCode, text)
	}
	return nil
}
