package reader

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// ParseQuery reads the parameters of op from values, every one checked. Those that op does not know are dropped from values. canonical are
// the others, sorted, without those that say what counts anyhow.
func ParseQuery(op api.Op, values url.Values) (q Query, canonical string, err error) {
	q = Query{Op: op, Pack: values.Get("pack")}
	if !values.Has("pack") {
		q.Pack = api.DefaultPack
	}
	err = q.read(values)
	names := op.Parameters()
	maps.DeleteFunc(values, func(name string, _ []string) bool { return !slices.Contains(names, name) })
	told := maps.Clone(values)
	if err == nil {
		q.tell(told)
	}
	if q.Pack == api.DefaultPack {
		told.Del("pack")
	}
	return q, told.Encode(), err
}

// read reads what the operation takes beside the pack.
func (q *Query) read(values url.Values) (err error) {
	switch q.Op {
	case api.OpSubscribe:
		q.Members = Listed(values.Get("members"))
		q.Proof, err = parseSwitch(values, "proof")
	case api.OpFresh:
		q.Members = Listed(values.Get("members"))
		q.Claims, err = parseSwitch(values, "claims")
	case api.OpBrief:
		q.Claims, err = parseSwitch(values, "claims")
	case api.OpSearch:
		err = parseSearch(q, values)
	case api.OpSnapshot:
		if q.At, err = state.ParseMoment(values.Get("at")); err == nil && q.At.Exact {
			values.Set("at", q.At.Key()) // one payment and one answer, however it is written
		}
	case api.OpCite:
		err = parseCite(q, values)
	case api.OpLookup:
		err = parseLookup(q, values)
	case api.OpChanges:
		err = parseChanges(q, values)
	case api.OpSeries:
		err = parseSeries(q, values)
	case api.OpHistory:
		err = parseHistory(q, values)
	}
	return err
}

// tell writes into values what q comes down to: one payment and one answer, however it was written.
func (q Query) tell(values url.Values) {
	set := func(name, text string) { // "" is what counts anyhow
		if values.Del(name); text != "" {
			values.Set(name, text)
		}
	}
	if !q.Claims {
		values.Del("claims")
	}
	if !q.Proof {
		values.Del("proof")
	}
	switch q.Op {
	case api.OpFresh, api.OpSubscribe:
		set("members", q.Members)
	case api.OpCite:
		set("row", q.Row)
		if values.Del("at"); !q.At.At.IsZero() {
			values.Set("at", q.At.Key())
		}
	case api.OpSearch:
		if q.K == api.SearchKDefault {
			values.Del("k")
		}
	case api.OpSnapshot:
		values.Set("at", q.At.Key())
	case api.OpLookup:
		set("q", q.Text)
		set("kind", q.Kind)
		if q.Limit == api.DefaultLookupLimit {
			values.Del("limit")
		}
	case api.OpChanges:
		q.tellChanges(values)
	case api.OpSeries:
		q.tellSeries(values)
	}
}

// parseSwitch reads a parameter that is true or false, or not there.
func parseSwitch(values url.Values, name string) (on bool, err error) {
	switch text := values.Get(name); text {
	case "true", "1":
		values.Set(name, "true")
		return true, nil
	case "", "false", "0":
		return false, nil
	default:
		return false, api.Errorf(api.ReasonInvalidRequest, "%s is %q, not true or false", name, human.Clip(text, human.Quoted)).
			WithHint("leave it out for false")
	}
}

// Listed are the names in a text with commas between, sorted and each once.
func Listed(text string) string {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// parseSearch reads q and k.
func parseSearch(q *Query, values url.Values) error {
	if q.Text = strings.TrimSpace(values.Get("q")); q.Text == "" {
		return api.Errorf(api.ReasonInvalidQ, "q is missing or empty").WithHint("say what to look for, for example q=bitcoin")
	}
	k, ok := count(values, "k", api.SearchKMin, api.SearchKMax, api.SearchKDefault)
	if !ok {
		text := human.Clip(values.Get("k"), human.Quoted)
		return api.Errorf(api.ReasonInvalidK, "k is %q, not a whole number from %d to %d", text, api.SearchKMin, api.SearchKMax).
			WithHint("leave k out for %d matches", api.SearchKDefault)
	}
	q.K = k
	return nil
}

// count reads a whole number from least to most, otherwise where it is not given.
func count(values url.Values, name string, least, most, otherwise int) (n int, ok bool) {
	if !values.Has(name) {
		return otherwise, true
	}
	n, err := strconv.Atoi(values.Get(name))
	return n, err == nil && n >= least && n <= most
}

// parseLookup reads q, kind and limit. Which kinds there are depends on the pack.
func parseLookup(q *Query, values url.Values) error {
	q.Kind = values.Get("kind")
	var questions []string
	for text := range strings.SplitSeq(values.Get("q"), ",") {
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			continue
		}
		if n := utf8.RuneCountInString(text); n > api.MaxLookupQuery {
			return api.Errorf(api.ReasonInvalidQ, "the question %q has %d characters, more than %d",
				human.Clip(text, human.Quoted), n, api.MaxLookupQuery).WithHint(askedByName)
		}
		questions = append(questions, text)
	}
	switch n := len(questions); {
	case n == 0:
		return api.Errorf(api.ReasonInvalidQ, "q is missing or empty").WithHint(askedByName)
	case n > api.MaxQuestions:
		return api.Errorf(api.ReasonInvalidQ, "q has %d questions, more than %d", n, api.MaxQuestions).WithHint("ask in several calls")
	}
	limit, ok := count(values, "limit", 1, api.MaxLookupRows, api.DefaultLookupLimit)
	if !ok {
		return api.Errorf(api.ReasonInvalidLimit, "limit is %q, not a whole number from 1 to %d",
			human.Clip(values.Get("limit"), human.Quoted), api.MaxLookupRows).
			WithHint("leave limit out for %d rows per question", api.DefaultLookupLimit)
	}
	q.Text, q.Limit = strings.Join(questions, ","), limit
	return nil
}

// askedByName says what a question of a lookup looks like.
const askedByName = "ask by name, with commas between questions: q=ADA price,tether supply"

// parseRef reads ref.
func parseRef(q *Query, text string) error {
	ref, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-") {
		return api.Errorf(api.ReasonInvalidRef, "ref is %q, more than any pack has sources", human.Clip(text, human.Quoted)).
			WithHint("use the number of an anchor: [3] in a brief is ref=3")
	}
	if err != nil || ref < 1 {
		return api.Errorf(api.ReasonInvalidRef, "ref is %q, not a whole number of 1 or more", human.Clip(text, human.Quoted)).
			WithHint("use the number of an anchor: [3] in a brief is ref=3")
	}
	q.Ref = ref
	return nil
}
