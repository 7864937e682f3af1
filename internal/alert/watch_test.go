package alert_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// coins are states of one coin, minutes apart: its price, "?" for one that does not tell, "~" before one that is stale.
func coins(minutes int, prices ...string) []alert.State {
	var list []alert.State
	before := func(_ context.Context, t time.Time) (alert.State, error) {
		for _, s := range slices.Backward(list) {
			if s.At.Before(t) {
				return s, nil
			}
		}
		return alert.State{}, alert.ErrNoState
	}
	for i, p := range prices {
		price, stale := strings.CutPrefix(p, "~")
		rows := fmt.Sprintf(`{"id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":%s,"ref":1,"stale":%t}`, price, stale)
		if p == "?" {
			rows = ""
		}
		list = append(list, alert.State{Pack: "crypto", At: began().Add(time.Duration(i*minutes) * time.Minute), Before: before,
			Doc: state.Read([]byte(`{"coins":[` + rows + `],"flags":[],"source_status":[]}`))})
	}
	return list
}

// shownCoins says where coins are.
func shownCoins() []state.Shown {
	return []state.Shown{{Kind: "asset", Path: "coins", Label: "name", Fields: []state.ShownField{{Name: "priceUsd"}}}}
}

// watch is the rule of a watch.
func watch(t *testing.T, of api.WatchType, arguments string) alert.Rule {
	t.Helper()
	a, err := api.ParseWatch(of, []byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	r, err := alert.Watch(of, a, shownCoins())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWatchEdges: what is told of a state follows from it and the states before it, on both sides of every bound; a state that does not
// tell counts as the one before, for an hour of them.
func TestWatchEdges(t *testing.T) {
	t.Parallel()
	below := `{"member":"asset","key":"btc","field":"priceUsd","op":"<","value":90}`
	most := `{"member":"asset","key":"bitcoin","field":"priceUsd","op":"<=","value":90}`
	percent := `{"member":"asset","key":"BTC","field":"priceUsd","percent":10,"windowMinutes":10}`
	absolute := `{"member":"asset","key":"BTC","field":"priceUsd","absolute":5,"windowMinutes":5}`
	again := `{"member":"asset","key":"BTC","field":"priceUsd","op":"<","value":90,"rearm":95}`
	mostAgain := `{"member":"asset","key":"BTC","field":"priceUsd","op":"<=","value":90,"rearm":95}`
	over := `{"member":"asset","key":"BTC","field":"priceUsd","op":">=","value":90,"rearm":85}`
	near := slices.Repeat([]string{"91"}, 73)
	unknown := slices.Repeat([]string{"?"}, 12)
	for _, c := range []struct {
		of     api.WatchType
		of2    string
		prices []string
		told   []int // states with an event
	}{
		{api.WatchConditionMet, below, []string{"91", "89", "88", "91", "89.9"}, []int{1, 4}},
		{api.WatchConditionMet, below, []string{"90", "90", "89.99"}, []int{2}},
		{api.WatchConditionMet, most, []string{"91", "90", "90"}, []int{1}},
		{api.WatchConditionMet, below, []string{"89", "89"}, nil},
		{api.WatchConditionMet, again, []string{"91", "89", "94.9", "89", "95", "89"}, []int{1, 5}},
		{api.WatchConditionMet, again, []string{"91", "89", "?", "91", "?", "89", "96", "91", "89"}, []int{1, 8}},
		{api.WatchConditionMet, again, slices.Concat([]string{"91", "89"}, near[:72], []string{"89"}), []int{1}},
		{api.WatchConditionMet, again, slices.Concat([]string{"91", "89"}, near, []string{"89"}), []int{1, 75}},
		{api.WatchConditionMet, mostAgain, []string{"91", "90", "94.9", "90", "95", "90"}, []int{1, 5}},
		{api.WatchConditionMet, over, []string{"89", "90", "86", "90", "85", "90"}, []int{1, 5}},
		{api.WatchConditionMet, below, []string{"91", "?", "~88", "89"}, []int{3}},
		{api.WatchConditionMet, below, []string{"89", "?", "89"}, nil},
		{api.WatchConditionMet, below, slices.Concat([]string{"89"}, unknown[:11], []string{"89"}), nil},
		{api.WatchConditionMet, below, slices.Concat([]string{"89"}, unknown, []string{"89"}), []int{13}},
		{api.WatchChangeMoved, percent, []string{"100", "100", "110", "110", "121", "121", "121", "100"}, []int{2, 7}},
		{api.WatchChangeMoved, percent, []string{"100", "100", "109.9", "90.1"}, nil},
		{api.WatchChangeMoved, absolute, []string{"100", "104.99", "109.99", "105", "101"}, []int{2}},
		{api.WatchStatePublished, `{"members":["coins"]}`, []string{"1", "1", "2", "2"}, []int{2}},
		{api.WatchStatePublished, `{"members":["flags"]}`, []string{"1", "2", "3"}, nil},
	} {
		r := watch(t, c.of, c.of2)
		var told []int
		ids := map[string]bool{}
		for i, s := range coins(5, c.prices...) {
			events, _ := r.Edges(t.Context(), s) // some states do not tell
			for _, e := range events {
				told = append(told, i)
				again, err := watch(t, c.of, c.of2).Edges(t.Context(), s)
				if err != nil || len(again) != 1 || again[0].ID != e.ID || ids[e.ID] {
					t.Errorf("%s %q: %+v is told again as %+v, %v", c.of, c.prices, e, again, err)
				}
				ids[e.ID] = true
				if d, err := e.Data(c.of); err != nil || d.Message == "" || !d.At.Equal(s.At) {
					t.Errorf("%s tells %+v, %v", c.of, d, err)
				}
			}
		}
		if !slices.Equal(told, c.told) {
			t.Errorf("%s %s: %q told in %d, want %d", c.of, c.of2, c.prices, told, c.told)
		}
	}
}

// TestWatchArguments: arguments have one form, and what is wrong with them is said.
func TestWatchArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of          api.WatchType
		given, want string // with "!" before a part of the error
	}{
		{api.WatchFlagChanged, ``, `{"changes":["appeared","rose"],"pack":"crypto","severity":"warning"}`},
		{api.WatchFlagChanged, `{"kinds":["b","a","b"],"changes":["ended"],"severity":"notice"}`,
			`{"changes":["ended"],"kinds":["a","b"],"pack":"crypto","severity":"notice"}`},
		{api.WatchFlagChanged, `{"changes":["fell"]}`, "!changes"},
		{api.WatchFlagChanged, `{"severity":"bad"}`, "!severity"},
		{api.WatchBriefPublished, `{"pack":"ai"}`, `{"pack":"ai"}`},
		{api.WatchBriefPublished, `{"pack":"ai","below":1}`, "!no argument \"below\""},
		{api.WatchBriefPublished, `[]`, "!object"},
		{api.WatchCreditsLow, `{"below":1}`, `{"below":1}`},
		{api.WatchCreditsLow, `{"below":0}`, "!below"},
		{api.WatchCreditsLow, `{}`, "!below is missing"},
		{api.WatchConditionMet, `{"op":"<","value":0,"member":"a","key":"b","field":"c"}`,
			`{"field":"c","key":"b","member":"a","op":"<","pack":"crypto","value":0}`},
		{api.WatchConditionMet, `{"op":"!=","value":0,"member":"a","key":"b","field":"c"}`, "!op"},
		{api.WatchConditionMet, `{"op":"<","value":90,"rearm":90,"member":"a","key":"b","field":"c"}`,
			`{"field":"c","key":"b","member":"a","op":"<","pack":"crypto","rearm":90,"value":90}`},
		{api.WatchConditionMet, `{"op":"<","value":90,"rearm":89.9,"member":"a","key":"b","field":"c"}`, "!rearm"},
		{api.WatchConditionMet, `{"op":">=","value":90,"rearm":90,"member":"a","key":"b","field":"c"}`, "!rearm"},
		{api.WatchConditionMet, `{"op":"=","value":90,"rearm":95,"member":"a","key":"b","field":"c"}`, "!rearm"},
		{api.WatchConditionMet, `{"op":"<","value":"x","member":"a","key":"b","field":"c"}`, "!value"},
		{api.WatchChangeMoved, `{"percent":1,"windowMinutes":5,"member":"a","key":"b","field":"c"}`,
			`{"field":"c","key":"b","member":"a","pack":"crypto","percent":1,"windowMinutes":5}`},
		{api.WatchChangeMoved, `{"percent":1,"windowMinutes":4,"member":"a","key":"b","field":"c"}`, "!windowMinutes"},
		{api.WatchChangeMoved, `{"percent":1,"windowMinutes":1440,"member":"a","key":"b","field":"c"}`,
			`{"field":"c","key":"b","member":"a","pack":"crypto","percent":1,"windowMinutes":1440}`},
		{api.WatchChangeMoved, `{"percent":1,"windowMinutes":1441,"member":"a","key":"b","field":"c"}`, "!windowMinutes"},
		{api.WatchChangeMoved, `{"percent":1,"absolute":1,"windowMinutes":5,"member":"a","key":"b","field":"c"}`,
			"!one of percent and absolute"},
		{api.WatchChangeMoved, `{"windowMinutes":5,"member":"a","key":"b","field":"c"}`, "!one of percent and absolute"},
		{"price", `{}`, "!no type"},
	} {
		a, err := api.ParseWatch(c.of, []byte(c.given))
		part, wrong := strings.CutPrefix(c.want, "!")
		switch {
		case wrong && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%s %s: %v, want %s", c.of, c.given, err, part)
		case !wrong && (err != nil || string(a.Canonical()) != c.want):
			t.Errorf("%s %s is %s, %v", c.of, c.given, a.Canonical(), err)
		}
	}
	if _, err := alert.Watch(api.WatchConditionMet, api.WatchArguments{Member: "asset", Field: "height"}, shownCoins()); err == nil ||
		!strings.Contains(err.Error(), "height") {
		t.Errorf("a field that there is not: %v", err)
	}
	if _, err := alert.Watch(api.WatchConditionMet, api.WatchArguments{Member: "pool", Field: "priceUsd"}, shownCoins()); err == nil {
		t.Error("a member that there is not is watched")
	}
}
