package web

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/sdk/api"
)

// expand puts into root, openapi.yaml as it is written, what follows from the declarations of the operations and what is the same
// everywhere, so that the file says only what is particular:
//
//   - The query parameters of an operation, and those that several share, are those of its declaration. A parameter of the same name in the
//     file replaces members of it.
//   - An operation with a price has the credentials, the headers and the refusals of every paid call. What the file has comes first.
//   - The schemas of the answers are those of their types in sdk/api. A member of the same name in the file replaces members of it.
//   - A response with the member errors, a list of examples, is an error envelope with its headers and these examples by their reasons.
func expand(root node) error {
	e := expander{root}
	for _, item := range root.Get("paths").Members() {
		op, ok := api.OpAt(item.Name)
		for _, method := range item.Value.Members() {
			if ok {
				if err := e.operation(op.Operation(), method); err != nil {
					return fmt.Errorf("describe %s: %w", op, err)
				}
			}
			for _, response := range method.Value.Get("responses").Members() {
				if err := e.errors(response.Value); err != nil {
					return fmt.Errorf("describe %s %s: %w", method.Name, item.Name, err)
				}
			}
		}
	}
	for _, response := range root.Get("components", "responses").Members() {
		if err := e.errors(response.Value); err != nil {
			return fmt.Errorf("describe %s: %w", response.Name, err)
		}
	}
	if err := e.schemas(); err != nil {
		return err
	}
	return e.shared()
}

// expander expands the description root.
type expander struct{ root node }

// describedParam is a parameter as OpenAPI has it.
type describedParam struct {
	Name        string       `yaml:"name"`
	In          string       `yaml:"in"`
	Required    bool         `yaml:"required,omitempty"`
	Description string       `yaml:"description"`
	Schema      paramSchema  `yaml:"schema,flow"`
	Example     *scalarValue `yaml:"example,omitempty"`
}

type paramSchema struct {
	Type      string       `yaml:"type"`
	Items     *paramSchema `yaml:"items,omitempty,flow"`
	MaxItems  int          `yaml:"maxItems,omitempty"`
	Format    string       `yaml:"format,omitempty"`
	Pattern   string       `yaml:"pattern,omitempty"`
	MinLength int          `yaml:"minLength,omitempty"`
	Minimum   *int         `yaml:"minimum,omitempty"`
	Maximum   int          `yaml:"maximum,omitempty"`
	Default   *scalarValue `yaml:"default,omitempty"`
}

// scalarValue is a value of a JSON type as text.
type scalarValue struct{ kind, text string }

// MarshalYAML writes v as a value of its type.
func (v *scalarValue) MarshalYAML() (any, error) {
	switch v.kind {
	case "array":
		return []string{v.text}, nil
	case "boolean":
		return strconv.ParseBool(v.text)
	case "integer":
		return strconv.Atoi(v.text)
	case "number":
		return strconv.ParseFloat(v.text, 64)
	}
	return v.text, nil
}

func describe(p api.Param) (node, error) {
	d := describedParam{
		Name: p.Name, In: "query", Required: p.Required, Description: p.Doc, Schema: paramSchema{Type: p.Type(), Pattern: p.Pattern},
	}
	if p.Example != "" {
		d.Example = &scalarValue{p.Type(), p.Example}
	}
	switch p.Kind {
	case api.KindConditions:
		d.Schema.Items, d.Schema.MaxItems = &paramSchema{Type: "string"}, p.Max
	case api.KindSwitch:
		d.Schema.Default = &scalarValue{p.Type(), "false"}
	case api.KindWhole, api.KindNumber:
		d.Schema.Minimum, d.Schema.Maximum = &p.Min, p.Max
	default:
		if p.Required && p.Pattern == "" {
			d.Schema.MinLength = 1
		}
	}
	if p.Kind == api.KindNumber {
		d.Schema.Format = "double"
	}
	if p.Default != "" {
		d.Schema.Default = &scalarValue{p.Type(), p.Default}
	}
	return encodeNode(d)
}

// operation completes the operation o, which stands under a method of its path.
func (e expander) operation(o api.Operation, method member) error {
	own := map[string]node{}
	for _, p := range method.Value.Get("parameters").Items() {
		own[p.Get("name").Text()] = p
	}
	var list []any
	for _, p := range o.ParamsOn(api.FaceHTTP) {
		if p.Component != "" {
			list = append(list, ref("parameters", p.Component))
			continue
		}
		p.Required = p.Required && strings.EqualFold(method.Name, http.MethodGet) // else it may be in the body
		n, err := describe(p)
		if err != nil {
			return err
		}
		n.override(own[p.Name])
		list = append(list, n.Node)
	}
	paid := o.PriceMicros > 0
	if paid {
		list = append(list, ref("parameters", "Proof"), ref("parameters", "Standard"), ref("parameters", "PayerHint"))
	}
	if err := method.Value.set("parameters", append(list, ref("parameters", "RequestId"))); err != nil || !paid {
		return err
	}
	none := []string{}
	price := map[string]string{"mode": "fixed", "currency": "USD", "amount": usdgText(o.PriceMicros)}
	for _, m := range []struct {
		name  string
		value any
	}{
		{"x-payment-info", map[string]any{"price": price, "protocols": []any{map[string]any{"x402": map[string]any{}}}}},
		{"security", []map[string][]string{
			{"apiKey": none}, {"paymentProof": none}, {"paymentProofAlias": none}, {"standardPayment": none},
		}},
	} {
		if err := method.Value.set(m.name, m.value); err != nil {
			return err
		}
	}
	return e.paid(method.Value.Get("responses"))
}

// paid adds to the responses of an operation with a price what they have in common.
func (e expander) paid(responses node) error {
	headers := map[string]string{
		api.HeaderRequestID: "RequestId", api.HeaderDataMode: "DataMode",
		api.HeaderCreditsLeft: "CreditsLeft", api.HeaderDailyLeft: "DailyLeft",
		api.HeaderFreeLeft: "FreeLeft", api.HeaderFreeReset: "FreeReset",
		"Cache-Control": "CacheControl", api.HeaderReplayed: "Replayed", api.HeaderAge: "Age",
		api.HeaderSettlement: "Settlement", api.HeaderWarning: "Warning",
	}
	if err := e.headers(responses.Get("200"), headers); err != nil {
		return err
	}
	refusals := map[string]string{
		"401": "BadKey", "402": "PaymentRequired", "403": "PackDenied", "404": "PackNotFound", "409": "IdentifierConflict",
		"429": "QuotaExhausted", "500": "InternalError", "503": "Unavailable",
	}
	for _, status := range slices.Sorted(maps.Keys(refusals)) {
		if responses.Get(status).Node == nil {
			if err := responses.set(status, ref("responses", refusals[status])); err != nil {
				return err
			}
		}
	}
	return nil
}

// headers adds references to headers to a response, those of the response first. A header that is null in the file is none.
func (e expander) headers(response node, components map[string]string) error {
	own := response.Get("headers")
	all := node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		if own.Get(name).Node == nil {
			if err := all.set(name, ref("headers", components[name])); err != nil {
				return err
			}
		}
	}
	for _, m := range own.Members() {
		if m.Value.Tag != "!!null" {
			if err := all.set(m.Name, m.Value.Node); err != nil {
				return err
			}
		}
	}
	return response.set("headers", all.Node)
}

// errors makes a response with the member errors an error envelope.
func (e expander) errors(response node) error {
	names := response.Get("errors").Texts()
	if names == nil {
		return nil
	}
	response.remove("errors")
	err := e.headers(response, map[string]string{
		api.HeaderRequestID: "RequestId", api.HeaderDataMode: "DataMode", "Cache-Control": "NoStore",
	})
	if err != nil {
		return err
	}
	examples := node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
	for _, name := range names {
		reason := e.root.Get("components", "examples", name, "value", "error", "reason").Text()
		if reason == "" {
			return fmt.Errorf("%s is no example of an error", name)
		}
		if err := examples.set(reason, ref("examples", name)); err != nil {
			return err
		}
	}
	return response.set("content", map[string]any{
		"application/json": map[string]any{"schema": ref("schemas", "ErrorBody"), "examples": examples.Node},
	})
}

// shared adds the parameters that several operations share to the components.
func (e expander) shared() error {
	components := e.root.Get("components", "parameters")
	for _, op := range api.Ops() {
		for _, p := range op.Operation().ParamsOn(api.FaceHTTP) {
			if p.Component == "" {
				continue
			}
			n, err := describe(p)
			if err != nil {
				return err
			}
			n.override(components.Get(p.Component))
			if err := components.set(p.Component, n.Node); err != nil {
				return err
			}
		}
	}
	return nil
}

func ref(kind, name string) map[string]any {
	return map[string]any{"$ref": "#/components/" + kind + "/" + name}
}

// encodeNode writes v as a node. What the description is full of is written here: yaml would write it as text and parse that,
// which takes several times as long.
func encodeNode(v any) (node, error) {
	switch v := v.(type) {
	case *yaml.Node:
		return node{v}, nil
	case string:
		return node{&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}}, nil
	case map[string]any:
		n := node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := n.set(name, v[name]); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	n := new(yaml.Node)
	err := n.Encode(v)
	return node{n}, err
}

// set sets a member of an object, in its place where it is there already.
func (n node) set(name string, v any) error {
	value, err := encodeNode(v)
	if err != nil {
		return err
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content[i+1] = value.Node
			return nil
		}
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	if _, err := strconv.Atoi(name); err == nil {
		key.Style = yaml.SingleQuotedStyle
	}
	n.Content = append(n.Content, key, value.Node)
	return nil
}

func (n node) remove(name string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// override replaces members of an object by those of another.
func (n node) override(by node) {
	for _, m := range by.Members() {
		_ = n.set(m.Name, m.Value.Node) // which is a node already
	}
}

// text is the YAML of a whole description.
func (n node) text() ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(n.Node); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}
