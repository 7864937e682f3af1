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
	return op, slices.Contains(api.Tools(), op)
}

// definition is what is particular to a tool.
type definition struct {
	op                 api.Op
	title, description string
	output             reflect.Type
	once               bool // calling it again with the same arguments gives the same
}

// changed is what the list of tools says of the answers of changes: an api.ChangesResponse has more.
type changed struct {
	Flags     []api.ChangedFlag `json:"flags"`
	Rows      []api.ChangedRow  `json:"rows"`
	Clear     bool              `json:"clear"`
	Freshness api.Freshness     `json:"freshness"`
}

// definitions are the tools, as a model reads them: what each is for, and which other to take.
func definitions() []definition {
	return []definition{
		{op: api.OpLookup, title: "Look up by name", output: reflect.TypeFor[api.LookupResponse](),
			description: "Look up numbers and facts by name: prices, changes (1h, 24h, 7d), volume, market cap, supply, peg, TVL, pools, " +
				"fees, predictions, headlines. Up to 20 questions a call, with commas: " +
				"q=\"ADA price, tether supply, aave tvl, solana news\". Knows every row fetched, not only those of fresh. " +
				"Each row has value, source [N], link and age. START HERE for any question with a name in it. " +
				"Unknown names are answered with the nearest ones; nothing is guessed."},
		{op: api.OpBrief, title: "Brief", output: reflect.TypeFor[api.BriefResponse](),
			description: "What matters now, in about 300 words: flags first, then market, majors, movers, DeFi, narratives, odds; " +
				"each figure with an [N] and the sources listed below. Cheapest overview. Quote with the [N]. " +
				"For a single number, or a coin not named here, use lookup (absence here means nothing)."},
		{op: api.OpFresh, title: "Fresh state", output: reflect.TypeFor[api.StateResponse](),
			description: "The whole newest state as tables (large): 21 of the 100 coins (5 majors, 8 up, 8 down), " +
				"24 protocols and chains, 12 pools, sentiment, narratives, flags, health of each source. " +
				"For comparing many rows or seeing which sources fail; else lookup or brief. " +
				"members=flags,sentiment returns only these."},
		{op: api.OpSearch, title: "Search the state", output: reflect.TypeFor[api.SearchResponse](),
			description: "Find where a WORD occurs in the newest state (names, headlines, flag texts, field names). " +
				"Matches words, not questions: q=zcash, not q=\"why is zcash up\". q=message lists all flags, q=title all headlines. " +
				"For numbers of a named thing use lookup."},
		{op: api.OpSnapshot, title: "Past state", once: true, output: reflect.TypeFor[api.StateResponse](),
			description: "The state as it was at a past minute (large; members=top_movers for part of it). No brief. " +
				"at=2026-11-20T14:05, 14:05 or -20m. Reach: 24 hours, 30 or 365 days by tier."},
		{op: api.OpSubscribe, title: "Watch for changes", output: reflect.TypeFor[watched](),
			description: "Wait up to 55 s for news and return AT ONCE when it lands, with what changed only. " +
				"reason=elapsed: nothing new, call again. " +
				"since=<generatedAt> of the last answer misses nothing. For waking on danger set severity=warning."},
		{op: api.OpChanges, title: "What changed", output: reflect.TypeFor[changed](),
			description: "What is different since a moment: flags that appeared, rose or ended first, then rows by size of move, " +
				"headlines, sources that failed; each old → new with [N]."},
		{op: api.OpCite, title: "Source of an anchor", output: reflect.TypeFor[api.CiteResponse](),
			description: "Proof of one figure: source, link, moment of fetching and the excerpt that holds it. ref=3 for [3]."},
	}
}

// toolList describes the tools, named with prefix, where packs are served. With loose, an answer may lack what else it always has: it may
// be an offer, to which clients hold the same schema.
func toolList(prefix string, packs []string, loose bool) ([]*sdk.Tool, error) {
	var list []*sdk.Tool
	no := false
	for _, d := range definitions() {
		output, err := outputSchema(d.output)
		if err != nil {
			return nil, err
		}
		if loose {
			output.Required = nil
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
	switch op {
	case api.OpSubscribe:
		return []string{"pack", "since", "severity", "min", "full", "seconds"}
	case api.OpSnapshot:
		return append(op.Parameters(), "members")
	}
	return op.Parameters()
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
		case value[0] == '{' || value[0] == '[' || kind(op, name) == "string":
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s is not a %s", name, kind(op, name)).WithHint("send a plain value")
		default:
			text = string(value)
		}
		values.Set(name, text)
	}
	return values, nil
}

// kind says what an argument is.
func kind(op api.Op, name string) string {
	if s := argumentSchema(op, name, nil); s != nil {
		switch s.Type {
		case "integer":
			return "whole number"
		case "number", "boolean":
			return s.Type
		}
	}
	return "string"
}
