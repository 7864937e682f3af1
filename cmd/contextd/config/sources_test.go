package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/source"
)

// TestSources: who asks is named as hosts want it, and an account at CoinGecko is one of a plan; the older name of its key file is as good.
func TestSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("CG-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		wrong   string
		contact string
		account source.CoinGecko
		moved   string // where the Fear & Greed Index is asked
	}{
		"{}":                                                     {},
		"{contact: ops@example.org}":                             {contact: "ops@example.org"},
		"{coingecko_key_file: KEY}":                              {account: source.CoinGecko{Key: "CG-secret"}},
		"{coingecko: {key_file: KEY}}":                           {account: source.CoinGecko{Key: "CG-secret"}},
		"{coingecko: {plan: pro, key_file: KEY}}":                {account: source.CoinGecko{Plan: source.PlanPro, Key: "CG-secret"}},
		"{coingecko: {plan: keyless}}":                           {account: source.CoinGecko{Plan: source.PlanKeyless}},
		"{url: {alternativeme-fng: 'https://a.example/fng'}}":    {moved: "https://a.example/fng"},
		"{url: {alternativeme-fng: {url: 'https://a.example'}}}": {moved: "https://a.example"},
		"{url: {}}": {},
		"{url: {alternativeme-fng: ftp}}": {
			wrong: `sources.url.alternativeme-fng: "ftp" is no address such as https://api.alternative.me/fng/`,
		},
		"{url: {no-such: 'https://a.example'}}":                 {wrong: `sources.url: there is no source "no-such"`},
		"{contact: ops}":                                        {wrong: `sources.contact is "ops", not an e-mail address such as ops@example.org`},
		"{contact: 'Ops <ops@example.org>'}":                    {wrong: "not an e-mail address"},
		`{contact: "ö@example.org"}`:                            {wrong: "not an e-mail address"},
		"{coingecko: {plan: pro}}":                              {wrong: "sources.coingecko: plan pro needs a key in key_file"},
		"{coingecko: {plan: keyless, key_file: KEY}}":           {wrong: "plan keyless takes no key"},
		"{coingecko: {key_file: KEY}, coingecko_key_file: KEY}": {wrong: "sources.coingecko_key_file is the older name of sources.coingecko.key_file"},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		text = "sources: " + strings.ReplaceAll(text, "KEY", key) + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load(t, file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Daemon(nil)
		switch {
		case want.wrong != "" && (err == nil || !strings.Contains(err.Error(), want.wrong)):
			t.Errorf("%s: %v, want %q", text, err, want.wrong)
		case want.wrong == "" && (err != nil || d.Contact != want.contact || d.CoinGecko != want.account):
			t.Errorf("%s: %v, %q, %+v", text, err, d.Contact, d.CoinGecko)
		case want.wrong == "" && d.Packs[0].Sources[9].Moved != want.moved:
			t.Errorf("%s: asked at %q, want %q", text, d.Packs[0].Sources[9].Moved, want.moved)
		}
	}
}
