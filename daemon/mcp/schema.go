package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/contextd/contextd/sdk/api"
)

// argumentSchema is the schema of p where packs are served, nil for what the list of tools does not tell of.
func argumentSchema(p api.Param, packs []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: p.Type(), Description: p.ToolDoc}
	switch {
	case p.Name == "pack" && !defaultAlone(packs): // else there is nothing to choose
		for _, id := range packs {
			s.Enum = append(s.Enum, id)
		}
	case p.ToolDoc == "":
		return nil
	}
	switch p.Kind {
	case api.KindWhole, api.KindNumber:
		s.Minimum = jsonschema.Ptr(float64(p.Min))
		if p.Max > 0 {
			s.Maximum = jsonschema.Ptr(float64(p.Max))
		}
	case api.KindSwitch:
		s.Default = json.RawMessage("false")
	case api.KindSeverity:
		for _, severity := range api.Severities() {
			s.Enum = append(s.Enum, severity)
		}
	case api.KindRowKind:
		s.Description += kindsOf(packs)
	}
	if s.Type == "string" && s.Enum == nil && p.Kind != api.KindNames && p.Kind != api.KindRowKinds { // those may be none
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
	return ", such as headline; each pack has its own"
}

// defaultAlone reports whether the default pack is the only one that is served.
func defaultAlone(packs []string) bool { return len(packs) == 1 && packs[0] == api.DefaultPack }

// inputSchema is the schema of the arguments of o's tool where packs are served.
func inputSchema(o api.Operation, packs []string) *jsonschema.Schema {
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
	for _, p := range o.ParamsOn(api.FaceTool) {
		a := argumentSchema(p, packs)
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

// outputSchema is the schema of answers of a type of the API: the members that each has, without what is in them, which would cost every
// conversation more than it tells a model. Members that some have, or that come later, are none that a client may refuse.
func outputSchema(answer reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(answer, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string"},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[api.Fields]():      {Type: "object"},
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", answer, err)
	}
	s.AdditionalProperties = nil
	for name, member := range s.Properties {
		if !slices.Contains(s.Required, name) {
			delete(s.Properties, name)
			continue
		}
		kind := member.Type
		for _, k := range member.Types {
			if k != "null" { // no pointer or slice is
				kind = k
			}
		}
		s.Properties[name] = &jsonschema.Schema{Type: kind}
	}
	return s, nil
}
