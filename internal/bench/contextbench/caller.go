package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// caller is how questions reach the daemon: as any client's do.
type caller struct {
	base, key string
	pack      string
	tools     []string // names that MCP lists
}

// send sends a request and returns the answer's status and body.
func (d *caller) send(ctx context.Context, method, address, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base+address, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// get asks over HTTP by names and values of parameters in turn, and decodes what a 200 says into v, unless v is nil.
func (d *caller) get(ctx context.Context, path string, v any, parameters ...string) (status int, text []byte, err error) {
	values := url.Values{"pack": {d.pack}}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	status, text, err = d.send(ctx, http.MethodGet, path+"?"+values.Encode(), "")
	if err == nil && status == http.StatusOK && v != nil {
		err = json.Unmarshal(text, v)
	}
	return status, text, err
}

// rpc makes a call of MCP and decodes its result into v.
func (d *caller) rpc(ctx context.Context, method string, params, v any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	status, text, err := d.send(ctx, http.MethodPost, api.PathMCP, string(body))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && bytes.Contains(data, []byte(`"id"`)) {
			text = data
		}
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%s: status %d: %w in %.200s", method, status, err, text)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, v)
}

// tool calls a tool and returns the text that a model reads.
func (d *caller) tool(ctx context.Context, name string, arguments map[string]any) (string, error) {
	arguments = maps.Clone(arguments)
	if arguments == nil {
		arguments = map[string]any{}
	}
	arguments["pack"] = d.pack
	var result struct{ Content []struct{ Text string } }
	if err := d.rpc(ctx, "tools/call", map[string]any{"name": "context." + name, "arguments": arguments}, &result); err != nil {
		return "", err
	}
	if len(result.Content) == 0 {
		return "", fmt.Errorf("tool %s answers nothing", name)
	}
	return result.Content[0].Text, nil
}

// has reports whether there is a tool.
func (d *caller) has(tool string) bool { return slices.Contains(d.tools, "context."+tool) }

// look finds out what tools there are.
func (d *caller) look(ctx context.Context) error {
	var list struct{ Tools []struct{ Name string } }
	if err := d.rpc(ctx, "tools/list", map[string]any{}, &list); err != nil {
		return err
	}
	for _, t := range list.Tools {
		d.tools = append(d.tools, t.Name)
	}
	return nil
}

// serves reports whether an HTTP operation is there: one that is not is answered by 404 without an operation's own reasons.
func (d *caller) serves(ctx context.Context, path string) (bool, error) {
	status, text, err := d.send(ctx, http.MethodGet, path, "")
	if err != nil {
		return false, err
	}
	var failure struct{ Error struct{ Reason string } }
	_ = json.Unmarshal(text, &failure) // what is no envelope has no reason
	return status != http.StatusNotFound || failure.Error.Reason != "not_found", nil
}
