package reader

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// ParseQuery reads the parameters of op from values, every one checked. Those that op does not know are dropped from values. canonical are
// the others, sorted, without those that say what counts anyhow.
func ParseQuery(op api.Op, values url.Values) (q Query, canonical string, err error) {
	q = Query{Op: op, Pack: values.Get("pack")}
	if !values.Has("pack") {
		q.Pack = api.DefaultPack
	}
	switch op {
	case api.OpSearch:
		err = parseSearch(&q, values)
	case api.OpSnapshot:
		if q.At, err = state.ParseMoment(values.Get("at")); err == nil && q.At.Exact {
			values.Set("at", q.At.Key()) // one payment and one answer, however it is written
		}
	case api.OpCite:
		err = parseRef(&q, values.Get("ref"))
	}
	names := op.Parameters()
	maps.DeleteFunc(values, func(name string, _ []string) bool { return !slices.Contains(names, name) })
	told := maps.Clone(values)
	if op == api.OpSnapshot && err == nil {
		told.Set("at", q.At.Key())
	}
	if q.Pack == api.DefaultPack {
		told.Del("pack")
	}
	if q.K == api.SearchKDefault {
		told.Del("k")
	}
	return q, told.Encode(), err
}

// parseSearch reads q and k.
func parseSearch(q *Query, values url.Values) error {
	if q.Text = strings.TrimSpace(values.Get("q")); q.Text == "" {
		return api.Errorf(api.ReasonInvalidQ, "q is missing or empty").WithHint("say what to look for, for example q=bitcoin")
	}
	q.K = api.SearchKDefault
	if !values.Has("k") {
		return nil
	}
	k, err := strconv.Atoi(values.Get("k"))
	if err != nil || k < api.SearchKMin || k > api.SearchKMax {
		text := human.Clip(values.Get("k"), human.Quoted)
		return api.Errorf(api.ReasonInvalidK, "k is %q, not a whole number from %d to %d", text, api.SearchKMin, api.SearchKMax).
			WithHint("leave k out for %d matches", api.SearchKDefault)
	}
	q.K = k
	return nil
}

// parseRef reads ref.
func parseRef(q *Query, text string) error {
	ref, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-") {
		return api.Errorf(api.ReasonInvalidRef, "ref is %q, more than any pack has sources", human.Clip(text, human.Quoted)).
			WithHint("use the number of an anchor: [3] in a brief is ?ref=3")
	}
	if err != nil || ref < 1 {
		return api.Errorf(api.ReasonInvalidRef, "ref is %q, not a whole number of 1 or more", human.Clip(text, human.Quoted)).
			WithHint("use the number of an anchor: [3] in a brief is ref=3")
	}
	q.Ref = ref
	return nil
}
