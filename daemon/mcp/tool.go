package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// toolName is the name of the tool of op.
func toolName(prefix string, op api.Op) string { return prefix + "." + string(op) }

// toolAlias is its name for clients that refuse dots.
func toolAlias(prefix string, op api.Op) string { return prefix + "_" + string(op) }

// toolOp returns the operation that a tool name, of either spelling, stands for.
func toolOp(prefix, name string) (op api.Op, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || rest == "" || rest[0] != '.' && rest[0] != '_' {
		return "", false
	}
	op = api.Op(rest[1:])
	return op, slices.Contains(api.Ops(), op)
}

// definition is what is particular to a tool.
type definition struct {
	op                 api.Op
	title, description string
	output             reflect.Type
	once               bool // calling it again with the same arguments gives the same
}

// definitions are the six tools.
func definitions() []definition {
	return []definition{
		{op: api.OpFresh, title: "Fresh state", output: reflect.TypeFor[api.StateResponse](),
			description: "The newest state of a pack, refreshed every 5 minutes: prices, TVL, pools, sentiment, narratives and flags, " +
				"with the brief and its sources. Large; use search for single values, brief for prose."},
		{op: api.OpBrief, title: "Brief", output: reflect.TypeFor[api.BriefResponse](),
			description: "A short narrated brief of a pack with [N] anchors, and the sources that they cite. Quote it with its anchors."},
		{op: api.OpSearch, title: "Search the state", output: reflect.TypeFor[api.SearchResponse](),
			description: "Find values in the newest state by a word or part of one, without regard to case. " +
				"Returns their paths and values, best first."},
		{op: api.OpSnapshot, title: "Past state", once: true, output: reflect.TypeFor[api.StateResponse](),
			description: "The state of a pack as of a past minute; how far back depends on the key's tier (24 hours, 30 or 365 days). " +
				"Its brief is empty. at=14:05 is today, at=-20m so long ago."},
		{op: api.OpSubscribe, title: "Watch for changes", output: reflect.TypeFor[watched](),
			description: "Wait and report each new state of a pack as it lands, then return all events. Needs an API key; costs one call."},
		{op: api.OpCite, title: "Source of an anchor", output: reflect.TypeFor[api.CiteResponse](),
			description: "The source behind an anchor: 3 for [3] in a brief, or the ref of a row."},
	}
}

// toolList describes the six tools, named with prefix, where packs are served.
func toolList(prefix string, packs []string) ([]*sdk.Tool, error) {
	var list []*sdk.Tool
	no := false
	for _, d := range definitions() {
		output, err := outputSchema(d.output)
		if err != nil {
			return nil, err
		}
		if d.op == api.OpSnapshot { // which has no brief
			for _, name := range []string{"briefAt", "briefOf", "since", "briefCitations"} {
				delete(output.Properties, name)
			}
		}
		list = append(list, &sdk.Tool{
			Name: toolName(prefix, d.op), Title: d.title, Description: d.description,
			InputSchema: inputSchema(d.op, packs), OutputSchema: output,
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: d.once, OpenWorldHint: &no},
		})
	}
	return list, nil
}

// argumentNames are the names that the tool of op takes.
func argumentNames(op api.Op) []string {
	names := op.Parameters()
	if op == api.OpSubscribe {
		names = append(names, "seconds")
	}
	return names
}

// toolArguments are the arguments of a call of op as parameters of the HTTP operation. Numbers may come as strings, which some models
// send; what is null counts as not given.
func toolArguments(op api.Op, raw json.RawMessage) (url.Values, error) {
	values := url.Values{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return values, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "arguments is not an object").
			WithHint("%s takes: %s", op, strings.Join(argumentNames(op), ", "))
	}
	known := argumentNames(op)
	for name, value := range members {
		var text string
		switch {
		case !slices.Contains(known, name):
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s takes no argument %q", op, human.Clip(name, human.Quoted)).
				WithHint("it takes: %s", strings.Join(known, ", "))
		case string(value) == "null":
			continue
		case json.Unmarshal(value, &text) == nil:
		case value[0] == '{' || value[0] == '[' || kind(name) == "string":
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s is not a %s", name, kind(name)).WithHint("send a plain value")
		default:
			text = string(value)
		}
		values.Set(name, text)
	}
	return values, nil
}

// kind says what an argument is.
func kind(name string) string {
	if s := argumentSchema(name, nil); s != nil && s.Type == "integer" {
		return "whole number"
	}
	return "string"
}
