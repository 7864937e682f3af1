package operate_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
)

// TestAlertsAreChecked: words say which alert is wrong and why, and none of its secrets.
func TestAlertsAreChecked(t *testing.T) {
	t.Parallel()
	crypto := []*pack.Pack{pack.Crypto()}
	two := []*pack.Pack{{ID: "other", FlagKinds: []string{"funding_extreme"}}, {ID: "open"}}
	for name, c := range map[string]struct {
		packs  []*pack.Pack
		change func(a *operate.Alert)
		want   string // "" where nothing is wrong
	}{
		"good":            {crypto, func(*operate.Alert) {}, ""},
		"no name":         {crypto, func(a *operate.Alert) { a.Name = "" }, `alerts[0]: name "" is not 1 to 32`},
		"bad name":        {crypto, func(a *operate.Alert) { a.Name = "a/b" }, `alerts[0]: name "a/b" is not 1 to 32`},
		"unknown pack":    {crypto, func(a *operate.Alert) { a.Pack = "ai" }, `alert a: pack "ai" is not served`},
		"bad severity":    {crypto, func(a *operate.Alert) { a.Severity = "bad" }, `alert a: severity "bad" is none of`},
		"unknown kind":    {crypto, func(a *operate.Alert) { a.Kinds = []string{"depeg"} }, `alert a: no flag is of kind "depeg"`},
		"no address":      {crypto, func(a *operate.Alert) { a.Mail = []string{"x"} }, `alert a: "x" is not an address of mail`},
		"address of more": {crypto, func(a *operate.Alert) { a.Mail = []string{"A <a@b.c>"} }, `alert a: "A <a@b.c>" is not an address`},
		"nobody":          {crypto, func(a *operate.Alert) { a.URL = "" }, `alert a: nobody is told`},
		"nothing to sign": {crypto, func(a *operate.Alert) {
			a.URL, a.Secret, a.Mail = "", []byte("x"), []string{"a@b.c"}
		}, `alert a: there is a secret to sign with`},
		"short secret": {crypto, func(a *operate.Alert) {
			a.Secret = []byte(strings.Repeat("x", 15))
		}, `alert a: the secret has 15 bytes`},
		"secret":            {crypto, func(a *operate.Alert) { a.Secret = []byte(strings.Repeat("x", 16)) }, ""},
		"long secret":       {crypto, func(a *operate.Alert) { a.Secret = []byte(strings.Repeat("x", 64)) }, ""},
		"negative cooldown": {crypto, func(a *operate.Alert) { a.Cooldown = -1 }, `alert a: the cool-down is negative`},
		"bad webhook":       {crypto, func(a *operate.Alert) { a.URL = "ftp://SECRET" }, `alert a: the address of the webhook is no`},
		"kind of a pack":    {two, func(a *operate.Alert) { a.Pack, a.Kinds = "other", []string{"funding_extreme"} }, ""},
		"kind of another": {two, func(a *operate.Alert) {
			a.Pack, a.Kinds = "other", []string{"stablecoin_depeg"}
		}, `alert a: no flag is of kind "stablecoin_depeg"; there are funding_extreme`},
		"any kind": {two, func(a *operate.Alert) { a.Pack, a.Kinds = "open", []string{"anything"} }, ""},
		"no crypto": {two, func(a *operate.Alert) {
			a.Kinds = []string{"funding_extreme"}
		}, `alert a: pack "crypto" is not served; there are other, open`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := operate.Alert{Name: "a", URL: "http://127.0.0.1:1/SECRET"}
			c.change(&a)
			err := operate.CheckAlerts(c.packs, []operate.Alert{a})
			if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	good := operate.Alert{Name: "a", URL: "http://127.0.0.1:1/SECRET"}
	if err := operate.CheckAlerts(crypto, []operate.Alert{good, good}); err == nil || err.Error() != "two alerts have the name a" {
		t.Errorf("twice: %v", err)
	}
}
