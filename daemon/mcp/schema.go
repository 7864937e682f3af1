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

// Bounds of the argument seconds of subscribe. Several clients cut a call at a minute.
const (
	minSeconds     = 1
	maxSeconds     = 55
	defaultSeconds = 30
)

// argumentSchema is the schema of an argument where packs are served, nil for one that is not told of. What has no default has to be given.
func argumentSchema(name string, packs []string) *jsonschema.Schema {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), Description: description}
	}
	number := func(from, to, otherwise float64, description string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "integer", Minimum: &from, Description: description}
		if to > 0 {
			s.Maximum = &to
			s.Default = strconv.AppendFloat(nil, otherwise, 'f', -1, 64)
		}
		return s
	}
	switch name {
	case "pack":
		s := &jsonschema.Schema{Type: "string", Description: "Data pack", Default: json.RawMessage(strconv.Quote(api.DefaultPack))}
		for _, id := range packs {
			s.Enum = append(s.Enum, id)
		}
		return s
	case "q":
		return text("What to look for, such as bitcoin")
	case "k":
		return number(api.SearchKMin, api.SearchKMax, api.SearchKDefault, "Most matches")
	case "at":
		return text("A minute in UTC, such as 2026-11-20T14:05, 14:05 for today or -20m; a generatedAt names its own state")
	case "seconds":
		return number(minSeconds, maxSeconds, defaultSeconds, "How long to watch")
	case "ref":
		return number(1, 0, 0, "Number of the anchor")
	}
	return nil
}

// inputSchema is the schema of the arguments of op's tool where packs are served.
func inputSchema(op api.Op, packs []string) *jsonschema.Schema {
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
	for _, name := range argumentNames(op) {
		a := argumentSchema(name, packs)
		if a == nil {
			continue
		}
		s.Properties[name] = a
		s.PropertyOrder = append(s.PropertyOrder, name)
		if a.Default == nil {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// outputSchema is the schema of answers of a type of the API. Members that come later are none that a client may refuse.
func outputSchema(answer reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(answer, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[api.EventType]():   {Type: "string", Enum: []any{api.EventPulse, api.EventDelta, api.EventError}},
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", answer, err)
	}
	loosen(s)
	return s, nil
}

// loosen makes a schema of a Go type that of its JSON: objects may have more members, and no pointer or slice is null.
func loosen(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" })
		s.Type, s.Types = s.Types[0], nil
	}
	if s.Items != nil {
		loosen(s.Items)
	}
	delete(s.Properties, "attestation")                                                                    // it is for later
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "dataAgeSeconds" }) // kept answers may not have it
	for name, member := range s.Properties {
		loosen(member)
		bound(name, member)
	}
}

// bound adds to the schema of a member what its Go type does not say.
func bound(name string, s *jsonschema.Schema) {
	switch name {
	case "ref":
		s.Minimum = jsonschema.Ptr(1.0)
	case "total":
		s.Minimum = jsonschema.Ptr(0.0)
	case "ageSeconds":
		s.Minimum = jsonschema.Ptr(0.0)
		s.Description = fmt.Sprintf("Over %d: the data lags", api.MaxFreshAge)
	case "briefCitations": // like citations
		s.Items = &jsonschema.Schema{Type: "object"}
	case "since":
		s.Properties["citations"].Items = &jsonschema.Schema{Type: "object"}
	case "dataAgeSeconds":
		s.Minimum = jsonschema.Ptr(0.0)
		s.Description = "The same with sources that are overdue"
	case "score":
		s.Minimum = jsonschema.Ptr(0.0)
		s.Maximum = jsonschema.Ptr(1.0)
	case "value":
		*s = jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "null"}}}
	case "reason":
		s.Enum = []any{endElapsed, endRevoked, endShutdown, endCancelled}
	}
}
