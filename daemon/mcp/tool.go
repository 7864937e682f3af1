package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Bounds of the argument seconds of subscribe. Several clients cut a call at a minute.
const (
	MinSeconds     = 1
	MaxSeconds     = 55
	DefaultSeconds = 30
)

// ToolName is the name of the tool of op.
func ToolName(prefix string, op api.Op) string { return prefix + "." + string(op) }

// ToolAlias is its name for clients that refuse dots.
func ToolAlias(prefix string, op api.Op) string { return prefix + "_" + string(op) }

// ToolOp returns the operation that a tool name, of either spelling, stands for.
func ToolOp(prefix, name string) (op api.Op, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || rest == "" || rest[0] != '.' && rest[0] != '_' {
		return "", false
	}
	op = api.Op(rest[1:])
	return op, slices.Contains(api.Ops(), op)
}

// Schemas of what several tools take and return.
const (
	packSchema      = `{"type":"string","enum":["crypto","ai","markets"],"default":"crypto","description":"Data pack; crypto is live"}`
	freshnessSchema = `{"type":"object","required":["generatedAt","ageSeconds"],"properties":{"generatedAt":{"type":"string","format":"date-time"},` +
		`"ageSeconds":{"type":"integer","minimum":0,"description":"Over 300: the data lags"}}}`
	citationSchema = `{"type":"object","required":["ref","sourceId","url","fetchedAt"],"properties":{"ref":{"type":"integer","minimum":1},` +
		`"sourceId":{"type":"string"},"url":{"type":"string"},"fetchedAt":{"type":"string","format":"date-time"},"excerpt":{"type":"string"}}}`
	briefMembers = `"brief":{"type":"string"},"briefAt":{"type":"string","format":"date-time"},"citations":{"type":"array","items":` +
		citationSchema + `},"freshness":` + freshnessSchema
	mindOutput = `{"type":"object","required":["state","brief","citations","freshness"],"properties":{"state":{"type":"object"},` + briefMembers + `}}`
)

// definition is what is particular to a tool.
type definition struct {
	op                 api.Op
	title, description string
	input              string // members of the input schema after pack
	required           string
	output             string
	once               bool // calling it again with the same arguments gives the same
}

// definitions are the six tools.
func definitions() []definition {
	return []definition{
		{op: api.OpFresh, title: "Fresh state", output: mindOutput,
			description: "The newest state of a pack, refreshed every 5 minutes: prices, TVL, pools, sentiment, narratives and flags, with the brief and its sources. Large; use search for single values, brief for prose."},
		{op: api.OpBrief, title: "Brief", output: `{"type":"object","required":["brief","citations","freshness"],"properties":{` + briefMembers + `}}`,
			description: "A short narrated brief of a pack with [N] anchors, and the sources that they cite. Quote it with its anchors."},
		{op: api.OpSearch, title: "Search the state", required: `,"required":["q"]`,
			description: "Find values in the newest state by a word or part of one, without regard to case. Returns their paths and values, best first.",
			input:       `,"q":{"type":"string","minLength":1,"description":"What to look for, such as bitcoin"},"k":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"Most matches"}`,
			output: `{"type":"object","required":["matches","total","freshness"],"properties":{"matches":{"type":"array","items":{"type":"object",` +
				`"required":["path","value","score"],"properties":{"path":{"type":"string"},"value":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"}]},` +
				`"score":{"type":"number","minimum":0,"maximum":1}}}},"total":{"type":"integer","minimum":0},"freshness":` + freshnessSchema + `}}`},
		{op: api.OpSnapshot, title: "Past state", required: `,"required":["at"]`, once: true, output: mindOutput,
			description: "The state of a pack as of a past minute; how far back depends on the key's tier (24 hours, 30 or 365 days). Its brief is empty.",
			input:       `,"at":{"type":"string","minLength":1,"description":"A minute in UTC, such as 2026-11-20T14:05, or an RFC 3339 time"}`},
		{op: api.OpSubscribe, title: "Watch for changes",
			description: "Wait and report each new state of a pack as it lands, then return all events. Needs an API key; costs one call.",
			input:       `,"seconds":{"type":"integer","minimum":1,"maximum":55,"default":30,"description":"How long to watch"}`,
			output: `{"type":"object","required":["events","reason"],"properties":{"events":{"type":"array","items":{"type":"object","required":["event","pack","ts"],` +
				`"properties":{"event":{"type":"string","enum":["pulse","delta","error"]},"pack":{"type":"string"},"ts":{"type":"string","format":"date-time"},` +
				`"state":{"type":"object","description":"Left out where ts is that of the event before"},"message":{"type":"string"}}}},` +
				`"reason":{"type":"string","enum":["elapsed","revoked","shutdown","cancelled"]}}}`},
		{op: api.OpCite, title: "Source of an anchor", required: `,"required":["ref"]`,
			description: "The source behind an anchor: 3 for [3] in a brief, or the ref of a row.",
			input:       `,"ref":{"type":"integer","minimum":1,"description":"Number of the anchor"}`,
			output: `{"type":"object","required":["citation","source","freshness"],"properties":{"citation":` + citationSchema +
				`,"source":{"type":"object","required":["id","name","publicUrl"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"publicUrl":{"type":"string"}}},"freshness":` +
				freshnessSchema + `}}`},
	}
}

// ToolList describes the six tools, named with prefix.
func ToolList(prefix string) []*sdk.Tool {
	var list []*sdk.Tool
	no := false
	for _, d := range definitions() {
		input := `{"type":"object","properties":{"pack":` + packSchema + d.input + `}` + d.required + `,"additionalProperties":false}`
		list = append(list, &sdk.Tool{
			Name: ToolName(prefix, d.op), Title: d.title, Description: d.description,
			InputSchema: json.RawMessage(input), OutputSchema: json.RawMessage(d.output),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: d.once, OpenWorldHint: &no},
		})
	}
	return list
}

// argumentNames are the names that the tool of op takes.
func argumentNames(op api.Op) []string {
	names := op.Parameters()
	if op == api.OpSubscribe {
		names = append(names, "seconds")
	}
	return names
}

// ToolArguments are the arguments of a call of op as parameters of the HTTP operation. Numbers may come as strings, which some models
// send; what is null counts as not given.
func ToolArguments(op api.Op, raw json.RawMessage) (url.Values, error) {
	values := url.Values{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return values, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "arguments is not an object").WithHint("%s takes: %s", op, strings.Join(argumentNames(op), ", "))
	}
	known := argumentNames(op)
	for name, value := range members {
		var text string
		switch {
		case !slices.Contains(known, name):
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s takes no argument %q", op, human.Clip(name, human.Quoted)).WithHint("it takes: %s", strings.Join(known, ", "))
		case string(value) == "null":
			continue
		case json.Unmarshal(value, &text) == nil:
		case value[0] == '{' || value[0] == '[' || !numeric(name):
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s is not a %s", name, kind(name)).WithHint("send a plain value")
		default:
			text = string(value)
		}
		values.Set(name, text)
	}
	return values, nil
}

// numeric reports whether an argument is a number.
func numeric(name string) bool { return name == "k" || name == "ref" || name == "seconds" }

// kind says what an argument is.
func kind(name string) string {
	if numeric(name) {
		return "whole number"
	}
	return "string"
}
