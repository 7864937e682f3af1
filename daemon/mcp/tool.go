package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

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
	return op, op == api.OpWatch || slices.Contains(api.Tools(), op)
}

// toolList describes the tools, named with prefix, where packs are served. What is in their answers would cost each conversation more than
// it tells a model; that it has its freshness is not so with loose: it may be an offer, to which clients hold the same schema.
func toolList(prefix string, packs []string, loose bool) []*sdk.Tool {
	var list []*sdk.Tool
	no := false
	for _, op := range api.Tools() {
		o := op.Operation()
		output := &jsonschema.Schema{Type: "object"}
		if !loose {
			output.Required = []string{"freshness"}
		}
		list = append(list, &sdk.Tool{
			Name: toolName(prefix, op), Title: o.Tool.Title, Description: o.Tool.Description,
			InputSchema: inputSchema(o, packs), OutputSchema: output,
			Annotations: &sdk.ToolAnnotations{
				ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: o.Tool.Idempotent, OpenWorldHint: &no,
			},
		})
	}
	return list
}

// toolArguments are the arguments of a call of op as parameters of the HTTP operation. Numbers may come as strings, which some models
// send; what is null counts as not given.
func toolArguments(op api.Op, raw json.RawMessage) (url.Values, error) {
	values := url.Values{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return values, nil
	}
	o := op.Operation()
	known := api.Names(o.ParamsOn(api.FaceTool))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "arguments is not an object").
			WithHint("%s takes: %s", op, strings.Join(known, ", "))
	}
	for name, value := range members {
		if !slices.Contains(known, name) {
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s takes no argument %q", op, human.Clip(name, human.Quoted)).
				WithHint("it takes: %s", strings.Join(known, ", "))
		}
		if string(value) == "null" {
			continue
		}
		texts, ok := arguments(o.Param(api.FaceTool, name), value)
		if !ok {
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s is not a %s", name, typeName(o.Param(api.FaceTool, name))).
				WithHint("send a plain value")
		}
		values[name] = texts
	}
	return values, nil
}

// arguments are the texts of p in a JSON value: one, or those of an array where p takes several.
func arguments(p api.Param, value json.RawMessage) (texts []string, ok bool) {
	if p.Kind == api.KindConditions && json.Unmarshal(value, &texts) == nil {
		return texts, true
	}
	text, ok := argument(p, value)
	return []string{text}, ok
}

// argument is a JSON value as the text of p; ok is false for one of another type.
func argument(p api.Param, value json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(value, &text) != nil {
		return string(value), value[0] != '{' && value[0] != '[' && p.Type() != "string" && p.Type() != "array"
	}
	if on, err := strconv.ParseBool(text); err == nil && p.Kind == api.KindSwitch { // as True, which models send
		text = strconv.FormatBool(on)
	}
	return text, true
}

func typeName(p api.Param) string {
	switch p.Kind {
	case api.KindWhole:
		return "whole number"
	case api.KindConditions:
		return "list of texts"
	}
	return p.Type()
}
