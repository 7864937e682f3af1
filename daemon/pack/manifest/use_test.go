package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// everyPack are the packs of the program under terms.
func everyPack(t *testing.T, terms pack.Terms) []*pack.Pack {
	t.Helper()
	list := []*pack.Pack{pack.Crypto().Under(terms)}
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		m, err := manifest.Read(text, true)
		if err != nil {
			t.Fatal(err)
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := m.Make(e)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.Under(terms))
	}
	return list
}

// TestUses: the terms of all 46 sources were read, and of what may be sold as many are as the handbook says.
func TestUses(t *testing.T) {
	t.Parallel()
	by := map[string][]string{}
	for _, p := range everyPack(t, pack.Terms{Service: "example.org"}) {
		for _, s := range p.Sources {
			uses := []api.Use{s.Use}
			for _, b := range s.Fallbacks {
				uses = append(uses, b.Use)
			}
			for _, u := range uses {
				_, err := time.Parse(time.DateOnly, u.Read)
				if err != nil || !strings.HasPrefix(u.Terms, "https://") || u.Attribution == "" || strings.Contains(u.Notice, "{") ||
					!slices.Contains(api.Permissions(), u.Commercial) || !slices.Contains(api.Permissions(), u.Store) {
					t.Errorf("%s: %+v", s.ID, u)
				}
			}
			may := string(s.Use.Redistribute)
			if s.Use.Sellable() {
				may = "sold"
			}
			by[may] = append(by[may], s.ID)
		}
	}
	if len(by["sold"]) != 23 || len(by["no"]) != 19 ||
		strings.Join(by["ask"], " ") != "polymarket-crypto kraken-ticker blockscout-gas openrouter-models" {
		t.Errorf("%d may be sold, %d not, and %v by agreement", len(by["sold"]), len(by["no"]), by["ask"])
	}
}

// TestSold looks at who is asked under which terms.
func TestSold(t *testing.T) {
	t.Parallel()
	served := func(terms pack.Terms) string {
		var list []string
		for _, p := range everyPack(t, terms) {
			n := 0
			for _, s := range p.Sources {
				if s.Withheld == "" {
					n++
				}
			}
			list = append(list, fmt.Sprintf("%s %d of %d, %d unsold", p.ID, n, len(p.Sources), len(p.Unsold())))
		}
		return strings.Join(list, "; ")
	}
	for _, c := range []struct {
		terms pack.Terms
		want  string
	}{
		{pack.Terms{}, "crypto 18 of 18, 19 unsold; ai 10 of 10, 1 unsold; markets 11 of 11, 2 unsold; perps 7 of 7, 5 unsold"},
		{pack.Terms{Licensed: []string{"cboe-vix", "coingecko-markets"}},
			"crypto 18 of 18, 18 unsold; ai 10 of 10, 1 unsold; markets 11 of 11, 1 unsold; perps 7 of 7, 5 unsold"},
		{pack.Terms{Clean: true}, "crypto 3 of 18, 0 unsold; ai 10 of 10, 0 unsold; markets 10 of 11, 0 unsold; perps 2 of 7, 0 unsold"},
		{pack.Terms{Clean: true, Licensed: []string{"cboe-vix", "coingecko-markets"}},
			"crypto 3 of 18, 0 unsold; ai 10 of 10, 0 unsold; markets 11 of 11, 0 unsold; perps 2 of 7, 0 unsold"},
	} {
		if got := served(c.terms); got != c.want {
			t.Errorf("%+v: %s, want %s", c.terms, got, c.want)
		}
	}
}

// TestServes looks at which states may be served under which terms.
func TestServes(t *testing.T) {
	t.Parallel()
	status := func(rows string) state.Pulse { return state.Pulse{State: []byte(`{"source_status":[` + rows + `]}`)} }
	const fees, gecko = `{"ref":16,"id":"mempool-fees","fetchedAt":"2026-11-20T20:00:00Z"}`, `{"ref":1,"id":"coingecko-markets"%s}`
	said, instead := fmt.Sprintf(gecko, `,"fetchedAt":"2026-11-20T20:00:00Z"`),
		fmt.Sprintf(gecko, `,"via":"CoinMarketCap","fetchedAt":"2026-11-20T20:00:00Z"`)
	all, clean := pack.Crypto().Under(pack.Terms{}), pack.Crypto().Under(pack.Terms{Clean: true})
	licensed := pack.Crypto().Under(pack.Terms{Clean: true, Licensed: []string{"coingecko-markets"}})
	for _, c := range []struct {
		p    *pack.Pack
		rows string
		want bool
	}{
		{all, said, true}, {all, "", true},
		{clean, fees, true}, {clean, fees + "," + fmt.Sprintf(gecko, ""), true},
		{clean, fees + "," + said, false}, {clean, fees + "," + instead, false}, {clean, "", false},
		{clean, fees + "," + strings.Replace(instead, "CoinMarketCap", "Hyperliquid", 1), true},
		{clean, `{"ref":19,"id":"another","fetchedAt":"2026-11-20T20:00:00Z"}`, false},
		{licensed, said, true}, {licensed, instead, false},
	} {
		if got := c.p.Serves(status(c.rows)); got != c.want {
			t.Errorf("%s: %v", c.rows, got)
		}
	}
}

// TestUseIsChecked: what a manifest allows has been read somewhere.
func TestUseIsChecked(t *testing.T) {
	t.Parallel()
	text, _ := manifest.ShippedText("perps")
	for _, c := range []struct{ from, to, want string }{
		{"  redistribute: silent", "  redistribute: maybe", `"maybe" is none of`},
		{"      terms: https://app.hyperliquid.xyz/terms\n", "", "use.terms"},
		{"      read: 2026-11-24\n", "", "on which the terms were read"},
		{"attribution: Hyperliquid", "attribution: Hyperliquid\n      notice: '{who} says it'", "braces of another name than {service}"},
	} {
		if !strings.Contains(string(text), c.from) {
			t.Fatalf("no %q", c.from)
		}
		_, err := manifest.Read([]byte(strings.Replace(string(text), c.from, c.to, 1)), true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.to, err)
		}
	}
}
