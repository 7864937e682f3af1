package client_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
)

// newProfilesApp is ctx with two profiles, of which prod is set, in an environment.
func newProfilesApp(t *testing.T, env map[string]string, flags ...string) *client.Factory {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.yaml": "profile: prod\nprofiles:\n  prod:\n    base_url: https://prod.example\n  home:\n    base_url: http://127.0.0.1:8402\n    pack: markets\n",
		"credentials.json": `{"profiles":{"prod":{"baseUrl":"https://prod.example","apiKey":"cv_prod_aaaaaaaaXXXXXXXXXXXXXXXXXXXXXXXX"},` +
			`"home":{"baseUrl":"http://127.0.0.1:8402","apiKey":"cv_test_bbbbbbbbXXXXXXXXXXXXXXXXXXXXXXXX"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"CTX_CONFIG_DIR": dir}
	maps.Copy(all, env)
	a := client.New(cli.System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, InTTY: true, OutTTY: true, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { v, ok := all[name]; return v, ok }})
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.Flags.Bind(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// TestOtherProfile: the address, the key and the pack are those of the profile, also where another was set by flag or environment.
func TestOtherProfile(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*client.Factory{
		"file": newProfilesApp(t, nil), "flag": newProfilesApp(t, nil, "-p", "prod"), "environment": newProfilesApp(t, map[string]string{"CTX_PROFILE": "prod"}),
	} {
		c, err := client.Other(a, "home")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer c.Close()
		if c.Profile != "home" || c.Where != "home" || c.Pack != "markets" || c.KeyID != "cv_test_bbbbbbbb" || c.Switch == nil || !slices.Equal(c.Profiles, []string{"default", "home", "prod"}) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := client.Other(newProfilesApp(t, nil), "nowhere"); err == nil || !strings.Contains(err.Error(), `no profile "nowhere"`) {
		t.Errorf("nowhere: %v", err)
	}
}

// TestKeyFileOfAnother: the key file of the whole configuration is not for the service of a profile.
func TestKeyFileOfAnother(t *testing.T) {
	t.Parallel()
	key := written(t, "cv_live_ddddddddXXXXXXXXXXXXXXXXXXXXXXXX")
	text := "base_url: https://prod.example\napi_key_file: " + key + "\nprofiles:\n  home:\n    base_url: http://127.0.0.1:8402\n  pack:\n    pack: markets\n"
	a := newProfilesApp(t, map[string]string{"CTX_CONFIG": written(t, text)})
	if _, err := client.Other(a, "home"); err == nil || !strings.Contains(err.Error(), "profile home has its own address") {
		t.Errorf("home: %v", err)
	}
	c, err := client.Other(a, "pack")
	if err != nil || c.KeyID != "cv_live_dddddddd" || c.Pack != "markets" {
		t.Errorf("pack: %+v, %v", c, err)
	}
}

// TestSaved: what the user chose of the screen is kept beside the settings. Who wants no rings has none.
func TestSaved(t *testing.T) {
	t.Parallel()
	a := newProfilesApp(t, nil, "-p", "home")
	c, err := client.Config(a)
	if err != nil || c.Saved.Span != "" || c.Notify != true {
		t.Fatalf("%+v, %v", c.Saved, err)
	}
	c.Save(tui.Saved{Span: "7d", Packs: map[string]tui.SavedPanes{"crypto": {Sorts: map[string]int{"top_movers": 2}}}})
	if c, err = client.Config(a); err != nil || c.Saved.Span != "7d" || c.Saved.Packs["crypto"].Sorts["top_movers"] != 2 {
		t.Errorf("%+v, %v", c.Saved, err)
	}
	off := newProfilesApp(t, map[string]string{"CTX_NOTIFY": "false"}, "-p", "home")
	if c, err = client.Config(off); err != nil || c.Notify {
		t.Errorf("notifies %t, %v", c.Notify, err)
	}
}

// TestKeys: keys that cannot be are told before the screen is taken.
func TestKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"keys: {pause: space}": "", "keys: {pause: []}": "keys.pause: it needs a key", "keys: {paus: space}": "keys.paus: there is no such action", "keys: {pause: q}": `keys: q is both "quit" and "pause"`} {
		a := newProfilesApp(t, map[string]string{"CTX_CONFIG": written(t, text)})
		c, err := client.Config(a)
		if want == "" && (err != nil || !slices.Equal(c.Keys.Pause.Keys(), []string{" "})) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSignInOfTheUI: the terminal UI signs in by mail and with a wallet as ctx login does, keeps the session where that does, and goes on
// with it.
func TestSignInOfTheUI(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	const key = "0x4646464646464646464646464646464646464646464646464646464646464646"
	for name, env := range map[string]map[string]string{"mail": {}, "wallet": {"CTX_WALLET_PRIVATE_KEY": key}} {
		dir := t.TempDir()
		maps.Copy(env, map[string]string{"CTX_CONFIG_DIR": dir, "HOME": dir, "CTX_BASE_URL": d.URL(), "CTX_API_KEY": d.Key(t, api.TierPro)})
		c, err := client.Config(newProfilesApp(t, env))
		if err != nil {
			t.Fatal(err)
		}
		if c.Account != nil || c.SignIn == nil || c.SignIn.HasWallet() != (name == "wallet") {
			t.Fatalf("%s: begins with %+v", name, c.SignIn)
		}
		if name == "wallet" {
			err = c.SignIn.ByWallet(t.Context(), "")
		} else if _, err = c.SignIn.SendLink(t.Context(), "ui@example.com"); err == nil {
			if err = c.SignIn.ByLink(t.Context(), "nonsense"); err == nil {
				t.Error("signed in with nonsense")
			}
			err = c.SignIn.ByLink(t.Context(), d.MailedLink(t, "ui@example.com"))
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in, err := c.Again()
		if err != nil || in.Account == nil || in.KeyID != c.KeyID {
			t.Fatalf("%s: again %+v, %v", name, in, err)
		}
		defer in.Close()
		if _, err := in.Account.Keys(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// written is a file with text.
func written(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoOtherProfile: what was given for one service is not sent to another.
func TestNoOtherProfile(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]*client.Factory{
		"option --base-url":        newProfilesApp(t, nil, "--base-url", "http://127.0.0.1:1"),
		"option --api-key-file":    newProfilesApp(t, nil, "--api-key-file", "x"),
		"environment CTX_BASE_URL": newProfilesApp(t, map[string]string{"CTX_BASE_URL": "http://127.0.0.1:1"}),
		"environment CTX_API_KEY":  newProfilesApp(t, map[string]string{"CTX_API_KEY": "cv_test_ccccccccXXXXXXXXXXXXXXXXXXXXXXXX"}),
		"environment CTX_PAY":      newProfilesApp(t, map[string]string{"CTX_PAY": "true"}),
		"environment CTX_TOKEN":    newProfilesApp(t, map[string]string{"CTX_TOKEN": "0x1000000000000000000000000000000000000001"}),
		"environment CTX_SESSION":  newProfilesApp(t, map[string]string{"CTX_SESSION": "s"}),
	} {
		if _, err := client.Other(a, "home"); err == nil || !strings.HasPrefix(err.Error(), want+" goes before what profiles say") || strings.Contains(err.Error(), "XXXX") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
