package brief_test

import (
	"context"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestBuiltInKnowsOtherPacksALittle(t *testing.T) {
	t.Parallel()
	two := []api.Citation{{Ref: 1, SourceID: "hf-models"}, {Ref: 2, SourceID: "arxiv"}, {Ref: 3, SourceID: "hn [3]"}}
	for _, c := range []struct{ name, state, want string }{
		{"rows and health", `{"trending_models":[{"name":"x","ref":1},{"name":"y","ref":1}],"papers":[{"title":"z","ref":2}],"flags":[],
			"source_status":[{"ref":1,"id":"hf-models","status":"ok"},{"ref":2,"id":"arxiv","status":"stale"},{"ref":3,"id":"hn","status":"error"}]}`,
			"The state holds papers with 1 row [2] and trending models with 2 rows [1].\n\n" +
				"Carried from an earlier answer: arxiv [2]. Without usable data: hn [3]."},
		{"health alone", `{"source_status":[{"ref":1,"id":"hf-models","status":"ok"}]}`, "Up to date: hf-models [1]."},
		{"no status", `{"papers":[{"ref":2},{"ref":9}],"note":"x"}`,
			"The state holds papers with 2 rows [2].\n\nIt is drawn from hf-models [1], arxiv [2] and hn (3) [3]."},
		{"empty", `{}`, "It is drawn from hf-models [1], arxiv [2] and hn (3) [3]."},
	} {
		in := brief.Input{Pack: "ai", State: state.Read([]byte(c.state)), Citations: two}
		got := write(t, in)
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		if list := brief.Check(got, in); len(list) > 0 {
			t.Errorf("%s:\n%s", c.name, report(list))
		}
	}
}

func TestBuiltInFailsWhereNothingCanBeSaid(t *testing.T) {
	t.Parallel()
	for _, in := range []brief.Input{
		{Pack: "ai", State: state.Read([]byte(`{}`))},
		{Pack: "ai", State: state.Read([]byte(`[`)), Citations: citations()},
		{Pack: api.PackCrypto, State: state.Read([]byte(`{}`))},
		{Pack: api.PackCrypto, State: state.Read([]byte(`{`)), Citations: citations()},
		{Pack: api.PackCrypto, State: state.Read([]byte(`{"top_movers":7}`)), Citations: citations()},
		{Pack: api.PackCrypto, State: state.Read([]byte(`{"top_movers":[{"name":"Bitcoin","priceUsd":5,"ref":1}]}`))},
	} {
		if draft, err := brief.BuiltIn().Write(context.Background(), in); err == nil {
			t.Errorf("%s %s: wrote %q", in.Pack, in.State.Text(), draft.Text)
		}
	}
}
