package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestParseCondition: every way to write one is one text, and what is none says so.
func TestParseCondition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"symbol=BTC": "symbol = BTC", " symbol   =  BTC ": "symbol = BTC", "priceUsd>=1e3": "priceUsd >= 1e3", "name~a b": "name ~ a b",
		"symbol in (A, B,,C)": "symbol in A,B,C", "symbol in A": "symbol in A", "name != in x": "name != in x", "a\nb=c": "", "name": "", "": "",
		"name = ": "", "symbol in (,)": "", "symbol inside": "", "drop table; --": "", "1=1": "", "name == x": "name = = x", "a.b=c": "",
		"name = \u202ecba\u202c": "name = cba", "name = " + strings.Repeat("x", 201): "", "name=" + strings.Repeat("é", 200): "name = " + strings.Repeat("é", 200),
	} {
		c, err := api.ParseCondition(text)
		if e := (*api.Error)(nil); want == "" {
			if !errors.As(err, &e) || e.Reason != api.ReasonInvalidWhere || e.Hint == "" || len(e.Message) > 200 {
				t.Errorf("%q: %v, %+v", text, c, err)
			}
		} else if err != nil || c.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, c, err, want)
		} else if again, err := api.ParseCondition(c.String()); err != nil || again != c {
			t.Errorf("%q is read as %q, which is read as %q, %v", text, c, again, err)
		}
	}
}
