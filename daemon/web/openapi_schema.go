package web

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/sdk/api"
)

// typed are the types that schemas are made of, beside the answers of the operations and what is in them.
func typed() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[api.CryptoState](), reflect.TypeFor[api.StreamError](), reflect.TypeFor[api.PacksResponse](),
		reflect.TypeFor[api.LogEntry](), reflect.TypeFor[api.LogRowEntry](),
		reflect.TypeFor[api.PaymentProof](), reflect.TypeFor[api.Error](),
		reflect.TypeFor[api.WalletSignInResponse](), reflect.TypeFor[api.EmailSignInResponse](),
		reflect.TypeFor[api.IdentityListResponse](),
		reflect.TypeFor[api.Session](), reflect.TypeFor[api.IssuedKey](), reflect.TypeFor[api.BoughtKey](),
		reflect.TypeFor[api.KeyListResponse](), reflect.TypeFor[api.RevokeResponse](), reflect.TypeFor[api.DepositIntent](),
		reflect.TypeFor[api.CreditBalanceResponse](), reflect.TypeFor[api.UsageResponse](), reflect.TypeFor[api.QueryTables](),
		reflect.TypeFor[api.Watch](), reflect.TypeFor[api.WatchList](), reflect.TypeFor[api.EventPage](),
		reflect.TypeFor[api.WatchArguments](), reflect.TypeFor[api.EventData](),
	}
}

// listed are the values of an enumeration, nil for any other type.
func listed(of reflect.Type) any {
	switch of {
	case reflect.TypeFor[api.Op]():
		return api.CountedOps()
	case reflect.TypeFor[api.Tier]():
		return api.Tiers()
	case reflect.TypeFor[api.CreditPack]():
		return api.CreditPacks()
	case reflect.TypeFor[api.TraceConsent]():
		return api.Consents()
	case reflect.TypeFor[api.Code]():
		return api.Codes()
	case reflect.TypeFor[api.Reason]():
		return api.Reasons()
	case reflect.TypeFor[api.WatchType]():
		return api.WatchTypes()
	case reflect.TypeFor[api.DeliveryType]():
		return api.DeliveryTypes()
	case reflect.TypeFor[api.WatchStatus]():
		return api.WatchStatuses()
	case reflect.TypeFor[api.CheckVerdict]():
		return api.CheckVerdicts()
	case reflect.TypeFor[api.CheckReason]():
		return api.CheckReasons()
	case reflect.TypeFor[api.Match]():
		return api.Matches()
	case reflect.TypeFor[api.FlagChange]():
		return api.FlagChanges()
	case reflect.TypeFor[api.Provenance]():
		return api.Provenances()
	case reflect.TypeFor[api.SourceHealth]():
		return api.SourceHealths()
	case reflect.TypeFor[api.Severity]():
		list := api.Severities()
		slices.Reverse(list) // the gravest first
		return list
	}
	return nil
}

// schemas makes the schemas of types: each that the file names, and each answer, is a component, and any other stands where it is used.
type schemas struct {
	file  node // the schemas of the file
	names map[reflect.Type]string
	made  map[string]node
	order []string
}

// schemaName is the name of the schema of a type, which the contract has given to two of them.
func schemaName(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[api.StateResponse]():
		return "MindResponse"
	case reflect.TypeFor[api.APIKeyRow]():
		return "ApiKeyRow"
	}
	return of.Name()
}

// schemas adds the schemas that follow from types of the API to the components. Those of the file replace members of them.
func (e expander) schemas() error {
	s := schemas{file: e.root.Get("components", "schemas"), names: map[reflect.Type]string{}, made: map[string]node{}}
	for _, op := range api.Ops() {
		answer := op.Operation().Answer
		s.names[answer] = schemaName(answer)
		if err := s.component(answer); err != nil {
			return err
		}
	}
	for _, of := range typed() {
		if err := s.component(of); err != nil {
			return err
		}
	}
	for _, name := range s.order {
		if err := s.file.set(name, s.made[name].with(s.file.Get(name)).Node); err != nil {
			return err
		}
	}
	return nil
}

// component makes the schema of a type unless it is made.
func (s *schemas) component(of reflect.Type) error {
	name := schemaName(of)
	if _, made := s.made[name]; made {
		return nil
	}
	s.names[of] = name
	s.made[name] = node{} // it may be in itself
	s.order = append(s.order, name)
	n, err := s.define(of)
	s.made[name] = n
	return err
}

// refer is the schema of a type where it is used.
func (s *schemas) refer(of reflect.Type) (node, error) {
	name := schemaName(of)
	if of.PkgPath() == reflect.TypeFor[api.Op]().PkgPath() && (s.names[of] != "" || s.file.Get(name).Node != nil) {
		if err := s.component(of); err != nil {
			return node{}, err
		}
		return encodeNode(ref("schemas", name))
	}
	return s.define(of)
}

// define is the schema of a type itself.
func (s *schemas) define(of reflect.Type) (node, error) {
	switch of {
	case reflect.TypeFor[time.Time]():
		return encodeNode(map[string]any{"type": "string", "format": "date-time"})
	case reflect.TypeFor[json.RawMessage]():
		return encodeNode(map[string]any{})
	case reflect.TypeFor[api.Fields]():
		return encodeNode(map[string]any{"type": "object", "additionalProperties": true})
	}
	switch of.Kind() {
	case reflect.Pointer:
		return s.refer(of.Elem())
	case reflect.Struct:
		return s.object(of)
	case reflect.Slice:
		items, err := s.refer(of.Elem())
		if err != nil {
			return node{}, err
		}
		return encodeNode(map[string]any{"type": "array", "items": items.Node})
	case reflect.Map:
		return encodeNode(map[string]any{"type": "object"})
	case reflect.Bool:
		return encodeNode(map[string]any{"type": "boolean"})
	case reflect.Int:
		return encodeNode(map[string]any{"type": "integer"})
	case reflect.Int64:
		return encodeNode(map[string]any{"type": "integer", "format": "int64"})
	case reflect.Float64:
		return encodeNode(map[string]any{"type": "number", "format": "double"})
	}
	n, err := encodeNode(map[string]any{"type": "string"})
	if values := listed(of); values != nil && err == nil {
		err = n.set("enum", values)
	}
	return n, err
}

// object is the schema of a struct. A member that may be left out is not required; a pointer that is not left out may be null.
func (s *schemas) object(of reflect.Type) (node, error) {
	n, err := encodeNode(map[string]any{"type": "object"})
	required, members := []string{}, node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || name == "-" || err != nil {
			continue
		}
		var m node
		if m, err = s.refer(f.Type); err != nil {
			break
		}
		switch {
		case options != "":
		case f.Type.Kind() == reflect.Pointer && m.Get("type").Node != nil:
			err = m.set("type", []string{m.Get("type").Text(), "null"})
			fallthrough
		default:
			required = append(required, name)
		}
		if name == "ref" && f.Type.Kind() == reflect.Int && err == nil { // of a source, counted from 1
			err = m.set("minimum", 1)
		}
		if err == nil {
			err = members.set(name, m.Node)
		}
	}
	if err == nil && len(required) > 0 {
		err = n.set("required", required)
	}
	if err == nil {
		err = n.set("properties", members.Node)
	}
	return n, err
}

// with is n with the members of by in place of those of the same name, and within them where both are objects. What by says by other
// schemas stands alone, and a member that is null in it is none.
func (n node) with(by node) node {
	if n.Node == nil || n.Kind != yaml.MappingNode || by.Node == nil || by.Kind != yaml.MappingNode {
		if by.Node == nil {
			return n
		}
		return by
	}
	if by.Get("$ref").Node != nil || by.Get("anyOf").Node != nil {
		return by
	}
	all := node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
	for _, m := range by.Members() {
		if n.Get(m.Name).Node == nil {
			_ = all.set(m.Name, m.Value.Node) // which is a node already
		}
	}
	for _, m := range n.Members() {
		if own := by.Get(m.Name); own.Node == nil || own.Tag != "!!null" {
			_ = all.set(m.Name, m.Value.with(own).Node)
		}
	}
	return all
}
