package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// parse reads the parameters of op, every one checked, and returns the form by which earlier releases knew the request; see formerForm.
func parse(op api.Op, w http.ResponseWriter, r *http.Request) (q api.Query, former string, err error) {
	params := op.Operation().ParamsOn(api.FaceHTTP)
	names := api.Names(params)
	values, err := Parameters(r, api.Names(slices.DeleteFunc(slices.Clone(params), repeated))...)
	if err != nil {
		return q, "", err
	}
	if r.Method == http.MethodPost {
		body, err := readBody(w, r, params)
		if err == nil {
			err = merge(values, body)
		}
		if err != nil {
			return q, "", err
		}
	}
	q, err = api.Parse(op, api.FaceHTTP, values)
	if e := (*api.Error)(nil); errors.As(err, &e) && e.Reason == api.ReasonInvalidAt && strings.Contains(values.Get("at"), " ") {
		err = e.WithHint("%s; in a URL, + is %%2B", e.Hint)
	}
	if q.Describe && !values.Has("pack") {
		q.Pack = api.PackAll
	}
	maps.DeleteFunc(values, func(name string, _ []string) bool { return !slices.Contains(names, name) })
	return q, formerForm(q, values), err
}

// repeated reports whether a parameter may be there several times.
func repeated(p api.Param) bool { return p.Kind == api.KindConditions }

// formerForm is the form of q by which releases until 6c28228 knew the request, and which payments may still be bound to: values, its
// parameters as they were sent, with what counts anyhow where it was written out. It can go once nobody upgrades from such a release.
func formerForm(q api.Query, values url.Values) string {
	if q.Claims {
		values.Set("claims", "true")
	}
	if q.Op == api.OpSnapshot && q.At.Exact {
		values.Set("at", q.At.Key())
	}
	return values.Encode()
}

// Parameters returns the query parameters of r. Those with the given names may be there once.
func Parameters(r *http.Request, names ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the query string cannot be read: %v", err).
			WithHint("escape %%, & and ; in values")
	}
	return values, single(values, names)
}

// single reports a name that has more than one value.
func single(values url.Values, names []string) error {
	for _, name := range names {
		if n := len(values[name]); n > 1 {
			return api.Errorf(api.ReasonInvalidRequest, "%s is set %d times", name, n).WithHint("set %s once", name)
		}
	}
	return nil
}

// bodyHint says what a body looks like.
const bodyHint = `send {"pack":"crypto","ref":3}, or the same as query parameters`

// ReadText reads r's body whole, if it has no more than limit bytes.
func ReadText(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// Not http.MaxBytesReader: where it can, it has the connection closed, though a rest that is not long is read away.
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if int64(len(text)) > limit {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body is over %d bytes", limit).
			WithStatus(http.StatusRequestEntityTooLarge).WithHint("send less")
	}
	if errors.Is(err, errSlow) {
		return nil, api.Errorf(api.ReasonRateLimited, "%v", err).WithHint("send it again, without pauses").WithRetryAfter(time.Second)
	}
	if err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body arrived incomplete").WithHint("send it again")
	}
	return text, nil
}

// ReadJSON reads the body of r, a JSON object with no members but those of v, into v. example says in the error what it should be.
func ReadJSON(w http.ResponseWriter, r *http.Request, v any, example string) error {
	text, err := ReadText(w, r, api.MaxBodyBytes)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(v); err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("more follows after the object")
		}
	}
	if err != nil {
		return api.Errorf(api.ReasonInvalidRequest, "the body cannot be read: %s", JSONFault(err)).
			WithHint("send %s", example)
	}
	return nil
}

// JSONFault is what is wrong with a JSON text, for who has sent it: without the names of our types.
func JSONFault(err error) string {
	kind := new(json.UnmarshalTypeError)
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s cannot be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it cannot be a JSON %s", kind.Value)
	case errors.Is(err, io.EOF):
		return "it is empty"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// readBody returns the members of r's JSON object as parameters, none for an empty body. What is null counts as not given. Its
// Content-Type does not matter, but for an operation that takes a whole text: there a body of text/plain is that, and every other JSON.
func readBody(w http.ResponseWriter, r *http.Request, params []api.Param) (url.Values, error) {
	text, err := ReadText(w, r, api.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	draft := slices.IndexFunc(params, func(p api.Param) bool { return p.Kind == api.KindDraft })
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); draft >= 0 && kind == "text/plain" && len(text) > 0 {
		return url.Values{params[draft].Name: {string(text)}}, nil
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body is not JSON: %v", err).WithHint(bodyHint)
	}
	if whole[0] != '{' {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body is JSON, but not an object").WithHint(bodyHint)
	}
	return members(whole, params)
}

// members returns the members of a JSON object that are parameters. It reads names as they are and sees one that is there
// twice, where decoding into a struct would fold case and take the last.
func members(object []byte, params []api.Param) (url.Values, error) {
	list, err := jsonx.Members(object)
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	for _, m := range list {
		i := slices.IndexFunc(params, func(p api.Param) bool { return p.Name == m.Name })
		switch {
		case i < 0, string(m.Raw) == "null":
		case values.Has(m.Name):
			return nil, api.Errorf(api.ReasonInvalidRequest, "%s is set %d times", m.Name, 2).WithHint("set %s once", m.Name)
		case m.IsArray() && repeated(params[i]):
			for _, element := range m.Members {
				if !element.IsString() {
					return nil, notString(m.Name + " in the body has an element that")
				}
				values.Add(m.Name, element.Text())
			}
		case params[i].Type() != "string" && !repeated(params[i]):
			values.Add(m.Name, string(m.Raw))
		case !m.IsString():
			return nil, notString(m.Name + " in the body")
		default:
			values.Add(m.Name, m.Text())
		}
	}
	return values, nil
}

func notString(what string) error {
	return api.Errorf(api.ReasonInvalidRequest, "%s is not a string", what).WithHint(bodyHint)
}

// merge adds the parameters of the body to those of the query. What is in both must be the same.
func merge(values, body url.Values) error {
	for name := range body {
		if values.Has(name) && !slices.Equal(values[name], body[name]) {
			return api.Errorf(api.ReasonInvalidRequest, "%s differs between the query and the body", name).
				WithHint("set %s once", name)
		}
		values[name] = body[name]
	}
	return nil
}
