package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Tools are the tools of the service, as it lists them.
func (e *Endpoint) Tools(ctx context.Context) ([]json.RawMessage, error) {
	raw, err := e.ask(ctx, methodTools, struct{}{})
	if err != nil {
		return nil, err
	}
	var result struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	return result.Tools, nil
}

// Answer is the answer of a tool.
type Answer struct {
	Text       string          // for a model
	Structured json.RawMessage // for a program, nil for none
}

// Call calls a tool. What the tool refuses is an error, as over HTTP.
func (e *Endpoint) Call(ctx context.Context, tool string, arguments map[string]string) (Answer, error) {
	if isSubscribe(tool) { // which takes as long as it is asked to
		e.timeout += time.Minute
	}
	raw, err := e.ask(ctx, methodCall, map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return Answer{}, err
	}
	var result struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return Answer{}, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		text.WriteString(c.Text)
	}
	if result.IsError {
		return Answer{}, refusalOf(text.String())
	}
	return Answer{Text: text.String(), Structured: result.StructuredContent}, nil
}
