package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// watchTool is the tool by which clients without MCP Events keep watches.
func (s *Server) watchTool() *sdk.Tool {
	no, text := false, func(doc string, values ...any) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: doc, Enum: values}
	}
	var types []any
	for _, t := range api.WatchTypes() {
		types = append(types, t)
	}
	return &sdk.Tool{
		Name: toolName(s.cfg.Prefix, api.OpWatch), Title: "Keep watches",
		Description: "Be told when something becomes true, in place of asking again and again. create starts a watch (a credit a day) " +
			"and gives watchId and cursor; read gives what happened since a cursor, free. condition.met: member=asset, key=BTC, " +
			"field=priceUsd, op=<, value=90000. change.moved: windowMinutes and percent or absolute. flag.changed: severity.",
		InputSchema: &jsonschema.Schema{
			Type: "object", Required: []string{"action"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
			PropertyOrder: []string{"action", "type", "arguments", "watchId", "cursor"},
			Properties: map[string]*jsonschema.Schema{
				"action": text("", "create", "read", "list", "remove"), "type": text("Of create", types...),
				"arguments": {Type: "object", Description: "Of create"}, "watchId": text("Of read and remove"), "cursor": text("Of read"),
			},
		},
		OutputSchema: &jsonschema.Schema{Type: "object"},
		Annotations:  &sdk.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}
}

// keepWatches answers the tool of watches.
func (s *Server) keepWatches(ctx context.Context, rq *request, _ api.Op, req *sdk.CallToolRequest) *sdk.CallToolResult {
	answer, text, err := s.watches(ctx, rq, req.Params.Arguments)
	if err != nil {
		return s.failed(rq, err)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return s.failed(rq, err)
	}
	return result(body, text)
}

func (s *Server) watches(ctx context.Context, rq *request, arguments json.RawMessage) (answer any, text string, err error) {
	var ask struct {
		Action    string          `json:"action"`
		Type      api.WatchType   `json:"type"`
		Arguments json.RawMessage `json:"arguments"`
		ID        string          `json:"watchId"`
		Cursor    string          `json:"cursor"`
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&ask); err != nil {
		return nil, "", api.Errorf(api.ReasonInvalidRequest, "the arguments cannot be read").
			WithHint("it takes: action, type, arguments, watchId, cursor")
	}
	if rq.payer() {
		return nil, "", api.KeyMissing("watches need an API key").WithHint("make one: ctx keys create NAME")
	}
	if ask.Action != "create" {
		if err := s.polls.Allow("key " + rq.caller.KeyID); err != nil {
			return nil, "", err
		}
	}
	switch ask.Action {
	case "create":
		w, _, err := s.cfg.Watches.Make(ctx, rq.who, api.WatchRequest{Type: ask.Type, Arguments: ask.Arguments, Cursor: ask.Cursor})
		told := fmt.Sprintf("%s waits for %s %s; read it: action=read, watchId=%[1]s, cursor=%s", w.ID, w.Type, w.Arguments, w.Cursor)
		return w, told, err
	case "read":
		page, err := s.cfg.Watches.Events(ctx, rq.caller, ask.ID, ask.Cursor)
		return page, eventsText(page), err
	case "list":
		list, err := s.cfg.Watches.List(ctx, rq.caller)
		var lines []string
		for _, w := range list {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s", w.ID, w.Type, w.Arguments, w.Delivery.Type, w.Status))
		}
		return api.WatchList{Watches: list}, fmt.Sprintf("%d watches\n%s", len(list), strings.Join(lines, "\n")), err
	case "remove":
		return map[string]string{"removed": ask.ID}, "removed", s.cfg.Watches.Remove(ctx, rq.caller, ask.ID)
	}
	return nil, "", api.Errorf(api.ReasonInvalidRequest, "there is no action %q", human.Clip(human.Line(ask.Action), human.Quoted)).
		WithHint("there are create, read, list, remove")
}

// eventsText is a page of events for models.
func eventsText(p api.EventPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events", len(p.Events))
	if p.Truncated {
		b.WriteString("; older ones are kept no longer")
	}
	for _, e := range p.Events {
		var d api.EventData
		if json.Unmarshal(e.Data, &d) == nil {
			fmt.Fprintf(&b, "\n%s %s: %s", d.At.UTC().Format("2006-01-02T15:04:05Z"), e.Name, human.Line(d.Message))
		}
	}
	fmt.Fprintf(&b, "\nnext cursor: %s", p.Cursor)
	return b.String()
}
