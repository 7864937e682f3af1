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
	defaultSeconds = 55
)

// argumentSchema is the schema of an argument where packs are served, nil for one that is not told of. What has no default has to be given.
func argumentSchema(op api.Op, name string, packs []string) *jsonschema.Schema {
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
		if defaultAlone(packs) {
			return nil // there is nothing to choose
		}
		s := &jsonschema.Schema{Type: "string", Default: json.RawMessage(strconv.Quote(api.DefaultPack))}
		for _, id := range packs {
			s.Enum = append(s.Enum, id)
		}
		return s
	case "q":
		if op == api.OpLookup {
			return text("1 to 20 questions with commas: a name, symbol or contract address, then optionally what you want " +
				"(price, 24h, volume, supply, tvl, peg, news)")
		}
		return text("The word, such as bitcoin")
	case "k":
		return number(api.SearchKMin, api.SearchKMax, api.SearchKDefault, "Rows at most")
	case "kind":
		return text("Only rows of this kind" + kindsOf(packs))
	case "limit":
		return number(1, api.MaxLookupRows, api.DefaultLookupLimit, "Rows per question")
	case "at":
		return text("A minute in UTC, 14:05, -20m, or a generatedAt")
	case "seconds":
		return number(minSeconds, maxSeconds, defaultSeconds, "At most")
	case "ref":
		return number(1, 0, 0, "The N of [N]")
	case "row":
		return text("Row under it, such as asset/zcash, for its own link and figures")
	}
	return changeSchema(name)
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

// changeSchema is argumentSchema for what changes and subscribe alone take.
func changeSchema(name string) *jsonschema.Schema {
	switch name {
	case "since":
		return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1),
			Description: "-20m, 14:05, a minute in UTC or a generatedAt"}
	case "min":
		return &jsonschema.Schema{Type: "number", Minimum: jsonschema.Ptr(0.0), Default: json.RawMessage("0"),
			Description: "Least move in percent"}
	case "members":
		return &jsonschema.Schema{Type: "string", Description: "With commas"}
	case "kinds":
		return &jsonschema.Schema{Type: "string", Description: "Of rows, with commas"}
	case "severity":
		return &jsonschema.Schema{Type: "string", Enum: []any{api.SeverityNotice, api.SeverityWarning, api.SeverityCritical},
			Description: "Least of the flags"}
	case "full":
		return &jsonschema.Schema{Type: "boolean", Default: json.RawMessage("false"), Description: "Add the whole state"}
	}
	return nil
}

// inputSchema is the schema of the arguments of op's tool where packs are served.
func inputSchema(op api.Op, packs []string) *jsonschema.Schema {
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
	for _, name := range argumentNames(op) {
		a := argumentSchema(op, name, packs)
		if a == nil {
			continue
		}
		s.Properties[name] = a
		s.PropertyOrder = append(s.PropertyOrder, name)
		if a.Default == nil && !optional(op, name) {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// optional reports whether op does without an argument that has no default.
func optional(op api.Op, name string) bool {
	switch name {
	case "kind", "kinds", "members", "row":
		return true
	case "since", "severity":
		return op == api.OpSubscribe
	}
	return op == api.OpCite && name == "at"
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
