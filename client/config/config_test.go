package config_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/sdk"
)

const secret = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"

// env makes an environment.
func env(pairs ...string) config.LookupEnv {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// write makes a settings file and returns its paths.
func write(t *testing.T, text string) config.Paths {
	t.Helper()
	dir := t.TempDir()
	paths := config.Paths{Dir: dir, File: filepath.Join(dir, "config.yaml"), Credentials: filepath.Join(dir, "credentials.json")}
	if err := os.WriteFile(paths.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return paths
}

// flags parses args as the flags of settings.
func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range config.Settings() {
		if s.Flag != "" {
			set.String(s.Flag, s.Default, "")
		}
	}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return set
}

const file = "base_url: http://file\npack: filepack\ntimeout: 5s\nretries: 1\nprofile: prod\n" +
	"profiles:\n  prod: {base_url: http://prod, pack: prodpack, profile: ignored}\n  dev: {timeout: 0s}\nbase_ulr: typo\n"

// TestPrecedence takes the layers away one by one.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  config.LookupEnv
		args []string
		want map[string]config.Value
	}{
		"flag": {env("CTX_BASE_URL", "http://env"), []string{"--base-url", "http://flag", "--retries", "0"}, map[string]config.Value{
			config.BaseURL: {"http://flag", "option --base-url"}, config.Retries: {"0", "option --retries"}, config.Timeout: {"5s", "file"}}},
		"environment": {env("CTX_BASE_URL", "http://env", "CTX_PACK", ""), nil, map[string]config.Value{
			config.BaseURL: {"http://env", "environment CTX_BASE_URL"}, config.Pack: {"prodpack", "profile prod"}}},
		"profile": {env(), nil, map[string]config.Value{config.BaseURL: {"http://prod", "profile prod"}, config.Profile: {"prod", "file"}}},
		"other profile": {env("CTX_PROFILE", "dev"), nil, map[string]config.Value{
			config.BaseURL: {"http://file", "file"}, config.Timeout: {"0s", "profile dev"}, config.Profile: {"dev", "environment CTX_PROFILE"}}},
		"default profile": {env("CTX_PROFILE", "dev"), []string{"--profile", "default"}, map[string]config.Value{
			config.BaseURL: {"http://file", "file"}, config.Pack: {"filepack", "file"}, config.Output: {"", "default"}, config.Color: {"auto", "default"}}},
	} {
		got, err := config.Load(write(t, file), c.env, flags(t, c.args...), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for setting, want := range c.want {
			if got.Get(setting) != want {
				t.Errorf("%s: %s is %+v, want %+v", name, setting, got.Get(setting), want)
			}
		}
		if strings.Join(got.Profiles, " ") != "dev prod" || strings.Join(got.Unknown, " ") != "base_ulr" || got.ProfileURL("prod") != "http://prod" {
			t.Errorf("%s: profiles %v, unknown %v", name, got.Profiles, got.Unknown)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"base_url: [":          "read configuration",
		"base_url: ftp://x":    "base_url: \"ftp://x\" is not an address such as https://host or http://127.0.0.1:8402 (from file)",
		"timeout: -1s":         "timeout",
		"retries: many":        "retries",
		"color: pink":          "color",
		"output: xml":          "output",
		"pack: a b":            "pack",
		"profile: Bad Name":    "profile",
		"profile: gone":        `there is no profile "gone" (from file)`,
		"base_url: http://u@h": "base_url",
		"keys: p":              "keys: not actions with their keys",
		"keys: {pause: {}}":    "keys.pause: not a key or a list of keys",
		"keys: {pause: ~}":     "keys.pause: not a key or a list of keys, in quotes where YAML asks for them (from file)",
	} {
		if _, err := config.Load(write(t, text), env(), nil, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	absent := config.Paths{File: filepath.Join(t.TempDir(), "none", "config.yaml")}
	c, err := config.Load(absent, env(), nil, "")
	if err != nil || c.Profile() != config.DefaultProfile || c.Timeout() != sdk.DefaultTimeout || c.Retries() != sdk.DefaultRetries {
		t.Errorf("without a file: %+v, %v", c, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	c, err := config.Load(write(t, "keys:\n  pause: space\n  down: [J, n, 2]\n  screen-live: 1\n  up: []\n"), env(), nil, "")
	want := map[string][]string{"pause": {"space"}, "down": {"J", "n", "2"}, "screen-live": {"1"}, "up": {}}
	if err != nil || !maps.EqualFunc(c.Keys, want, slices.Equal[[]string]) || len(c.Unknown) > 0 {
		t.Errorf("%v, unknown %v, %v", c.Keys, c.Unknown, err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	join := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	for _, c := range []struct {
		env       config.LookupEnv
		flag      string
		dir, file string
	}{
		{env("HOME", root), "", join(".config", "ctx"), join(".config", "ctx", "config.yaml")},
		{env("HOME", root, "XDG_CONFIG_HOME", join("xdg")), "", join("xdg", "ctx"), join("xdg", "ctx", "config.yaml")},
		{env("HOME", root, "XDG_CONFIG_HOME", "relative"), "", join(".config", "ctx"), join(".config", "ctx", "config.yaml")},
		{env("HOME", root, "CTX_CONFIG_DIR", join("own")), "", join("own"), join("own", "config.yaml")},
		{env("HOME", root, "CTX_CONFIG", "e.yaml"), "", join(".config", "ctx"), "e.yaml"},
		{env("HOME", root, "CTX_CONFIG", "e.yaml"), "f.yaml", join(".config", "ctx"), "f.yaml"},
	} {
		got, err := config.Locate(c.env, c.flag)
		if err != nil || got.Dir != c.dir || got.File != c.file || got.Credentials != filepath.Join(c.dir, "credentials.json") {
			t.Errorf("%+v, %v; want %s and %s", got, err, c.dir, c.file)
		}
	}
	if _, err := config.Locate(env(), ""); err == nil {
		t.Error("found a place without HOME")
	}
}

// TestEdit checks that editing keeps what it is not about.
func TestEdit(t *testing.T) {
	t.Parallel()
	paths := write(t, "# mine\npack: a # why\n")
	step := func(err error, want string) {
		t.Helper()
		got, errRead := os.ReadFile(paths.File)
		if err != nil || errRead != nil || string(got) != want {
			t.Errorf("%v, %v; the file is\n%s, want\n%s", err, errRead, got, want)
		}
	}
	step(paths.Set("", config.Pack, "b"), "# mine\npack: b # why\n")
	step(paths.Set("", config.Retries, "2"), "# mine\npack: b # why\nretries: \"2\"\n")
	step(paths.Set("p", config.BaseURL, "http://p"), "# mine\npack: b # why\nretries: \"2\"\nprofiles:\n  p:\n    base_url: http://p\n")
	step(paths.Unset("", config.Retries), "# mine\npack: b # why\nprofiles:\n  p:\n    base_url: http://p\n")
	step(paths.Unset("q", config.Retries), "# mine\npack: b # why\nprofiles:\n  p:\n    base_url: http://p\n")
	step(paths.Set("", config.Profile, "p"), "# mine\npack: b # why\nprofiles:\n  p:\n    base_url: http://p\nprofile: p\n")
	step(paths.RemoveProfile("p"), "# mine\npack: b # why\nprofiles: {}\n")
	step(paths.AddProfile("q"), "# mine\npack: b # why\nprofiles: {q: {}}\n")
	for _, text := range []string{"- a list\n", "a: ["} {
		if write(t, text).Set("", config.Pack, "b") == nil {
			t.Errorf("%q was edited", text)
		}
	}
}

// TestCredentials checks that keys lie in a file of their owner alone, and that one that is open to others is not read.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "ctx")
	paths := config.Paths{Dir: dir, Credentials: filepath.Join(dir, "credentials.json")}
	if got, err := paths.Credential("p"); err != nil || !got.Key.IsZero() {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if err := paths.Store("p", config.Credential{}); err != nil {
		t.Error(err)
	}
	if err := paths.Store("p", config.Credential{Key: sdk.NewKey(secret), BaseURL: "http://p"}); err != nil {
		t.Fatal(err)
	}
	got, err := paths.Credential("p")
	if err != nil || got.Key.Secret() != secret || got.BaseURL != "http://p" {
		t.Errorf("got %+v, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		refusesOpenModes(t, paths)
	}
	if err := paths.Store("p", config.Credential{}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(paths.Credentials); err != nil || strings.Contains(string(text), "SECRET") {
		t.Errorf("a forgotten key is still there: %s, %v", text, err)
	}
	if err := os.WriteFile(paths.Credentials, []byte(`{"profiles": "SECRET`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := paths.Credential("p"); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("a broken file: %v", err)
	}
}

// refusesOpenModes opens the file of keys and its directory to others, bit by bit.
func refusesOpenModes(t *testing.T, paths config.Paths) {
	t.Helper()
	for path, want := range map[string]os.FileMode{paths.Credentials: 0o600, paths.Dir: 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s is %v, want %v, %v", path, info.Mode(), want, err)
		}
	}
	for bit := os.FileMode(1); bit < 0o100; bit <<= 1 {
		if err := os.Chmod(paths.Credentials, 0o600|bit); err != nil {
			t.Fatal(err)
		}
		if _, err := paths.Credential("p"); !errors.Is(err, config.ErrOpenMode) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("mode %04o: %v", 0o600|bit, err)
		}
		if err := paths.Store("p", config.Credential{}); !errors.Is(err, config.ErrOpenMode) {
			t.Errorf("mode %04o was written over: %v", 0o600|bit, err)
		}
	}
	if err := os.Chmod(paths.Credentials, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	for text, ok := range map[string]bool{secret: true, "\n " + secret + " \nmore\n": true, "": false, "SECRET": false, strings.Repeat("x", 70<<10): false} {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.ReadKey(key, nil)
		if (err == nil) != ok || ok && got.Secret() != secret || err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%.60q: %v, %v", text, got, err)
		}
	}
	for text, ok := range map[string]bool{secret + "\nmore": true, secret: true, "": false, "SECRET\n": false} {
		got, err := config.ReadKey("-", strings.NewReader(text))
		if (err == nil) != ok || ok && got.Secret() != secret || err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("stdin %q: %v, %v", text, got, err)
		}
	}
	if _, err := config.ReadKey(filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if s.Help == "" || !strings.HasPrefix(s.Env, "CTX_") || s.Check(s.Default) != nil {
			t.Errorf("setting %+v", s)
		}
		if found, err := config.Find(strings.ReplaceAll(s.Name, "_", "-")); err != nil || found.Name != s.Name {
			t.Errorf("found %s for %s, %v", found.Name, s.Name, err)
		}
	}
}
