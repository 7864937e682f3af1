package web

import (
	"bytes"
	"fmt"
	"net/url"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// itemList is what is for sale, as the draft of x402 for /.well-known/x402.json has it.
type itemList struct {
	X402Version int    `json:"x402Version"`
	LastUpdated int64  `json:"lastUpdated"` // seconds since 1970
	Items       []item `json:"items"`
}

// item is an operation that is for sale. How it is paid is what holds now; what counts is in the 402 of its URL.
type item struct {
	Resource api.StandardResource `json:"resource"`
	Type     string               `json:"type"`
	Accepts  []api.StandardAccept `json:"accepts"`
	Input    itemInput            `json:"input"`
	Output   *itemOutput          `json:"output,omitempty"`
}

type itemInput struct {
	Method        string `json:"method"`
	RouteTemplate string `json:"routeTemplate"`
	QueryParams   any    `json:"queryParams,omitempty"`
	Body          any    `json:"body,omitempty"`
}

type itemOutput struct {
	MimeType string `json:"mimeType"`
	Example  any    `json:"example"`
}

// items makes the list of what is for sale, and says since when it is the same.
func (d Discovery) items(list func() (catalogue, error)) func() (document, error) {
	var last []byte // what was told but for the time
	var since int64
	return func() (document, error) {
		list, err := list()
		if err != nil {
			return document{}, err
		}
		told := itemList{X402Version: api.X402Version, Items: []item{}}
		for _, o := range list {
			if d.Standard != nil {
				told.Items = append(told.Items, d.item(o))
			}
		}
		now, err := jsonx.Encode(told)
		if err != nil {
			return document{}, err
		}
		if !bytes.Equal(now, last) {
			last, since = now, d.Now().Unix()
		}
		told.LastUpdated = since
		text, err := jsonx.Encode(told)
		return document{contentType: "application/json", text: append(text, '\n'), cache: api.CacheRevalidate}, err
	}
}

// item is o as it is for sale now.
func (d Discovery) item(o paidOperation) item {
	subject, tag := x402.Subject{Pack: api.CreditStarter}, tagCredits
	op, called := api.OpAt(o.Path)
	if called {
		subject, tag = x402.Subject{Op: op}, api.DefaultPack
	}
	input, _ := o.Bazaar.Info["input"].(map[string]any)
	sent, _ := input["queryParams"].(map[string]any)
	one := item{
		Type: "http", Accepts: []api.StandardAccept{},
		Resource: api.StandardResource{
			URL: d.PublicURL.String() + o.Path + example(op, called, sent), Description: o.Get("summary").Text(),
			MimeType: "application/json", ServiceName: x402.ServiceName, Tags: []string{tag},
		},
		Input: itemInput{Method: o.Method, RouteTemplate: d.PublicURL.Path + o.Path, QueryParams: sent, Body: input["body"]},
	}
	if output, ok := o.Bazaar.Info["output"].(map[string]any); ok {
		one.Output = &itemOutput{"application/json", output["example"]}
	}
	if offer, ok := d.Standard.Offer(subject); ok {
		one.Accepts = offer.Accepts
	}
	return one
}

// example is the query of a call that gives what it has to, as it was sent in an example. A moment is left out: whether there was a state
// then, the description cannot know, and the 402 of a bare call names the parameter.
func example(op api.Op, called bool, sent map[string]any) string {
	values := url.Values{}
	if !called {
		values.Set("pack", string(api.CreditStarter))
	} else {
		for _, p := range op.Operation().ParamsOn(api.FaceHTTP) {
			moment := p.Name == "at" || p.Name == "since"
			if value := sent[p.Name]; p.Required && value != nil && !moment {
				values.Set(p.Name, fmt.Sprint(value))
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}
