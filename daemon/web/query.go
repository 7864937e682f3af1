package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// parameters are the names that op knows. Each may be given once; all others are ignored.
func parameters(op api.Op) []string {
	names := op.Parameters()
	if op == api.OpSubscribe {
		names = append(names, "token")
	}
	return names
}

// parse reads the parameters of op, every one checked. canonical are those that op knows, sorted.
func parse(op api.Op, w http.ResponseWriter, r *http.Request) (q reader.Query, canonical string, err error) {
	names := parameters(op)
	values, err := Parameters(r, names...)
	if err != nil {
		return q, "", err
	}
	if r.Method == http.MethodPost {
		body, err := readBody(w, r)
		if err == nil {
			err = merge(values, body, names)
		}
		if err != nil {
			return q, "", err
		}
	}
	return Query(op, values)
}

// Query reads the parameters of op from values, every one checked. canonical are those that op knows, sorted; the others are dropped
// from values.
func Query(op api.Op, values url.Values) (q reader.Query, canonical string, err error) {
	q = reader.Query{Op: op, Pack: values.Get("pack")}
	if !values.Has("pack") {
		q.Pack = api.DefaultPack
	}
	switch op {
	case api.OpSearch:
		err = parseSearch(&q, values)
	case api.OpSnapshot:
		q.At, err = state.ParseMinute(values.Get("at"))
	case api.OpCite:
		err = parseRef(&q, values.Get("ref"))
	case api.OpSubscribe:
		err = checkToken(values.Get("token"))
	}
	names := parameters(op)
	maps.DeleteFunc(values, func(name string, _ []string) bool { return !slices.Contains(names, name) })
	return q, values.Encode(), err
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
			return api.Errorf(api.ReasonInvalidRequest, "%s is given %d times", name, n).WithHint("give %s once", name)
		}
	}
	return nil
}

// parseSearch reads q and k.
func parseSearch(q *reader.Query, values url.Values) error {
	if q.Text = strings.TrimSpace(values.Get("q")); q.Text == "" {
		return api.Errorf(api.ReasonInvalidQ, "q is missing or empty").WithHint("say what to look for: ?q=bitcoin")
	}
	q.K = api.SearchKDefault
	if !values.Has("k") {
		return nil
	}
	k, err := strconv.Atoi(values.Get("k"))
	if err != nil || k < api.SearchKMin || k > api.SearchKMax {
		return api.Errorf(api.ReasonInvalidK, "k is %q, not a whole number from %d to %d", human.Clip(values.Get("k"), human.Quoted), api.SearchKMin, api.SearchKMax).
			WithHint("leave k out for %d matches", api.SearchKDefault)
	}
	q.K = k
	return nil
}

// parseRef reads ref.
func parseRef(q *reader.Query, text string) error {
	ref, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-") {
		ref, err = int(^uint(0)>>1), nil // a number, and above every N
	}
	if err != nil || ref < 1 {
		return api.Errorf(api.ReasonInvalidRef, "ref is %q, not a whole number of 1 or more", human.Clip(text, human.Quoted)).
			WithHint("use the number of an anchor: [3] in a brief is ?ref=3")
	}
	q.Ref = ref
	return nil
}

// bodyHint says what a body looks like.
const bodyHint = `send {"pack":"crypto","ref":3}, or the same as query parameters`

// ReadText reads r's body whole, if it has no more than limit bytes.
func ReadText(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body is over %d bytes", large.Limit).
			WithStatus(http.StatusRequestEntityTooLarge).WithHint("send less")
	}
	if err != nil {
		return nil, api.Errorf(api.ReasonInvalidRequest, "the body could not be read whole").WithHint("send it again")
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
			err = errors.New("there is something behind the object")
		}
	}
	if err != nil {
		return api.Errorf(api.ReasonInvalidRequest, "the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: ")).WithHint("send %s", example)
	}
	return nil
}

// readBody returns the members of r's JSON object as parameters, none for an empty body. What is null counts as not given. Its
// Content-Type does not matter: JSON is all that a body can be.
func readBody(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	text, err := ReadText(w, r, api.MaxBodyBytes)
	if err != nil {
		return nil, err
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
	return members(whole)
}

// members returns the members of a JSON object that are parameters. It reads names as they are and sees one that is there
// twice, where decoding into a struct would fold case and take the last.
func members(object []byte) (url.Values, error) {
	list, err := jsonx.Members(object)
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	for _, m := range list {
		switch {
		case string(m.Raw) == "null":
		case m.Name == "ref":
			values.Add("ref", string(m.Raw))
		case m.Name == "pack":
			if !m.IsString() {
				return nil, api.Errorf(api.ReasonInvalidRequest, "pack in the body is not a string").WithHint(bodyHint)
			}
			values.Add("pack", m.Text())
		}
	}
	return values, nil
}

// merge adds the parameters of the body to those of the query. What is in both must be the same.
func merge(values, body url.Values, names []string) error {
	if err := single(body, names); err != nil {
		return err
	}
	for name := range body {
		value := body.Get(name)
		if values.Has(name) && values.Get(name) != value {
			return api.Errorf(api.ReasonInvalidRequest, "%s differs between the query and the body", name).
				WithHint("give %s once", name)
		}
		values.Set(name, value)
	}
	return nil
}
