package web

import (
	"slices"
	"strings"
	"sync"

	"github.com/contextd/contextd/sdk/api"
)

// paidOperation is an operation of the description that can be paid for by call, which it says by its member x-payment-info.
type paidOperation struct {
	operation
	Price  string                // USD, as the description has it; "" where it depends on what is asked
	Bazaar api.StandardExtension // tells catalogues of x402 how to call it
}

// Name is the method and path, such as "GET /v1/fresh".
func (o paidOperation) Name() string { return o.Method + " " + o.Path }

// catalogue are the operations that can be paid for, in the order of the description.
type catalogue []paidOperation

// of is the one of a method at a path; ok is false where that cannot be paid for.
func (c catalogue) of(method, path string) (o paidOperation, ok bool) {
	i := slices.IndexFunc(c, func(o paidOperation) bool { return o.Method == method && o.Path == path })
	if i < 0 {
		return o, false
	}
	return c[i], true
}

// newCatalogue returns what reads the catalogue when it is first asked for.
func newCatalogue() func() (catalogue, error) { return sync.OnceValues(readCatalogue) }

func readCatalogue() (list catalogue, err error) {
	root, err := descriptionRoot()
	if err != nil {
		return nil, err
	}
	d := description{root}
	for _, op := range d.operations("") {
		info := op.Get("x-payment-info")
		if info.Node == nil {
			continue
		}
		o := paidOperation{operation: op, Price: info.Get("price", "amount").Text()}
		if o.Bazaar, err = d.bazaar(op); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// maxExample bounds the example of an answer in an offer, in bytes.
const maxExample = 512

// bazaar is the extension of x402 by which catalogues learn how op is called and what it answers, in short: the parameters, a call that
// gives those that have to be, and the first example of an answer that is short enough.
func (d description) bazaar(op operation) (e api.StandardExtension, err error) {
	sent, properties, required := map[string]any{}, map[string]any{}, []string{}
	declared, _ := api.OpAt(op.Path)
	for _, p := range op.Parameters {
		if p.Get("in").Text() != "query" {
			continue
		}
		name, must := p.Get("name").Text(), p.Get("required").Text() == "true"
		usual := must || name == "pack" || op.Method == "GET" && declared.Operation().Param(api.FaceHTTP, name).Required
		properties[name] = d.typeOf(p.Get("schema"))
		if must {
			required = append(required, name)
		}
		if example := p.Get("example"); example.Node != nil && usual {
			var value any
			if err := example.Decode(&value); err != nil {
				return e, err
			}
			sent[name] = value
		}
	}
	input := map[string]any{"type": "http", "method": op.Method, "queryParams": sent}
	called := map[string]any{
		"type": map[string]any{"type": "string", "const": "http"}, "method": map[string]any{"type": "string", "enum": []string{op.Method}},
		"queryParams": map[string]any{"type": "object", "properties": properties, "required": required},
	}
	needs := []string{"type", "method"}
	if op.Method != "GET" { // a body is told of, though it may be empty
		body, members, err := d.body(op)
		if err != nil {
			return e, err
		}
		input["bodyType"], input["body"] = "json", body
		called["bodyType"] = map[string]any{"type": "string", "enum": []string{"json"}}
		called["body"] = map[string]any{"type": "object", "properties": members}
		needs = append(needs, "bodyType", "body")
	}
	e.Info = map[string]any{"input": input}
	if example, err := d.example(op); err != nil {
		return e, err
	} else if example != nil {
		e.Info["output"] = map[string]any{"type": "json", "example": example}
	}
	e.Schema = map[string]any{
		"type": "object", "required": []string{"input"},
		"properties": map[string]any{"input": map[string]any{"type": "object", "properties": called, "required": needs}},
	}
	return e, nil
}

// typeOf is the schema of a parameter in short: its type, of several the first, which is not null.
func (d description) typeOf(schema node) map[string]any {
	t := d.resolve(schema).Get("type")
	if t.Node != nil && len(t.Content) > 0 {
		t = node{t.Content[0]}
	}
	return map[string]any{"type": t.Text()}
}

// body is the first example of a body of op, empty if it takes none, and what a body may have.
func (d description) body(op operation) (example, members map[string]any, err error) {
	example, members = map[string]any{}, map[string]any{}
	content := op.Get("requestBody", "content", "application/json")
	for _, m := range d.resolve(content.Get("schema")).Get("properties").Members() {
		members[m.Name] = d.typeOf(m.Value)
	}
	for _, e := range content.Get("examples").Members() {
		return example, members, d.resolve(e.Value).Get("value").Decode(&example)
	}
	return example, members, nil
}

// example is the first example of an answer of op that is short enough, nil if there is none. What is made comes before what was there.
func (d description) example(op operation) (any, error) {
	for _, response := range slices.Backward(op.Get("responses").Members()) {
		if !strings.HasPrefix(response.Name, "2") {
			continue
		}
		for _, e := range d.resolve(response.Value).Get("content", "application/json", "examples").Members() {
			value := d.resolve(e.Value).Get("value")
			text, err := value.MarshalJSON()
			if err != nil || len(text) > maxExample {
				continue
			}
			return value, nil
		}
	}
	return nil, nil
}
