package mcp

import (
	"encoding/json"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/contextd/contextd/sdk/api"
)

// listsPacks is the tool that lists the packs and says which is the default: in each they would cost a conversation several times as much.
const listsPacks = api.OpLookup

// argumentSchema is the schema of the parameter p of op where packs are served, nil for what the list of tools does not tell of.
func argumentSchema(op api.Op, p api.Param, packs []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: p.Type(), Description: p.ToolDoc}
	switch {
	case p.Name == "pack" && !defaultAlone(packs): // else there is nothing to choose
		if op != listsPacks {
			return s
		}
		for _, id := range packs {
			s.Enum = append(s.Enum, id)
		}
		if op.Operation().AnyPack {
			s.Enum = append(s.Enum, api.PackAll)
		}
	case p.Name == "pack", p.ToolDoc == "":
		return nil
	}
	switch p.Kind {
	case api.KindWhole, api.KindNumber:
		s.Minimum = jsonschema.Ptr(float64(p.Min))
		if p.Max > 0 {
			s.Maximum = jsonschema.Ptr(float64(p.Max))
		}
	case api.KindConditions:
		s.Items, s.MaxItems = &jsonschema.Schema{Type: "string"}, jsonschema.Ptr(p.Max)
	case api.KindSwitch:
		s.Default = json.RawMessage("false")
	case api.KindSeverity:
		for _, severity := range api.Severities() {
			s.Enum = append(s.Enum, severity)
		}
	case api.KindRowKind:
		s.Description += kindsOf(packs)
	}
	if p.Required && s.Type == "string" {
		s.MinLength = jsonschema.Ptr(1)
	}
	if p.Default != "" {
		s.Default = json.RawMessage(p.Default)
		if s.Type == "string" {
			s.Default = json.RawMessage(strconv.Quote(p.Default))
		}
	}
	return s
}

// kindsOf says what kinds of rows there are where packs are served.
func kindsOf(packs []string) string {
	if defaultAlone(packs) {
		return ": asset, stablecoin, protocol, chain, pool, prediction, headline, fee"
	}
	return ", such as headline"
}

// defaultAlone reports whether the default pack is the only one that is served.
func defaultAlone(packs []string) bool { return len(packs) == 1 && packs[0] == api.DefaultPack }

// inputSchema is the schema of the arguments of o's tool where packs are served.
func inputSchema(o api.Operation, packs []string) *jsonschema.Schema {
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
	for _, p := range o.ParamsOn(api.FaceTool) {
		a := argumentSchema(o.Op, p, packs)
		if a == nil {
			continue
		}
		s.Properties[p.Name] = a
		s.PropertyOrder = append(s.PropertyOrder, p.Name)
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}
