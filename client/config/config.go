package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/contextd/contextd/sdk"
)

// LookupEnv reads an environment variable, as os.LookupEnv.
type LookupEnv func(name string) (string, bool)

// Paths are the places of the files.
type Paths struct {
	Dir         string // 0700
	File        string // settings and profiles, no secrets
	Credentials string // keys, 0600
}

// Locate says where the files are: in CTX_CONFIG_DIR, or in ctx below XDG_CONFIG_HOME or ~/.config. A file given by flag, or in
// CTX_CONFIG, is the settings file instead.
func Locate(env LookupEnv, file string) (Paths, error) {
	dir, ok := env("CTX_CONFIG_DIR")
	if !ok || dir == "" {
		home, ok := env("XDG_CONFIG_HOME")
		if !ok || !filepath.IsAbs(home) { // the XDG specification has relative paths ignored
			user, ok := env("HOME")
			if !ok || user == "" {
				return Paths{}, errors.New("find configuration: HOME is not set; set CTX_CONFIG_DIR")
			}
			home = filepath.Join(user, ".config")
		}
		dir = filepath.Join(home, "ctx")
	}
	if file == "" {
		file, _ = env("CTX_CONFIG")
	}
	if file == "" {
		file = filepath.Join(dir, "config.yaml")
	}
	return Paths{Dir: dir, File: file, Credentials: filepath.Join(dir, "credentials.json")}, nil
}

// Value is the value of a setting and where it came from.
type Value struct {
	Text   string
	Origin string // option --x, environment X, profile p, file, default, choice
}

// Config is what holds: every setting with its value, and the profiles.
type Config struct {
	Paths
	Profiles []string            // names, sorted
	Unknown  []string            // names in the file that are none of a setting, sorted
	Keys     map[string][]string // of the terminal UI, by what they do
	FoundKey sdk.Key             // of the service that was found on this machine, where no other is kept
	values   map[string]Value
	stored   map[string]map[string]any // settings by profile
}

// OnThisMachine is the origin of the address of a service that was found running here.
const OnThisMachine = "the service on this machine"

// Find has c use a service that runs on this machine, and its key, where nobody has set an address.
func (c *Config) Find(baseURL string, key sdk.Key) {
	if v := c.values[BaseURL]; v.Origin == "default" {
		c.values[BaseURL], c.FoundKey = Value{baseURL, OnThisMachine}, key
	}
}

// Get is the value of a setting.
func (c *Config) Get(name string) Value { return c.values[name] }

// Profile is the name of the profile in use. It need not be in the file.
func (c *Config) Profile() string { return c.values[Profile].Text }

// ProfileURL is the base URL that a profile has of its own, "" if none.
func (c *Config) ProfileURL(profile string) string {
	text, _ := c.stored[profile][BaseURL].(string)
	return text
}

// Timeout is the time limit of a call; 0 means none.
func (c *Config) Timeout() time.Duration {
	d, _ := time.ParseDuration(c.values[Timeout].Text) // Load has checked it
	return d
}

// Retries is the number of attempts after the first.
func (c *Config) Retries() int {
	n, _ := strconv.Atoi(c.values[Retries].Text) // Load has checked it
	return n
}

// Load reads the file, if there is one, and lays flags, environment, profile, file and defaults over each other. A profile that is
// given is used in place of the one that is set. It fails where a value cannot be used, naming its origin.
func Load(paths Paths, env LookupEnv, flags *pflag.FlagSet, given string) (*Config, error) {
	c := &Config{Paths: paths, values: map[string]Value{}, stored: map[string]map[string]any{}}
	file, err := c.read()
	if err != nil {
		return nil, err
	}
	for name := range file.GetStringMap("profiles") {
		c.Profiles = append(c.Profiles, name)
		c.stored[name] = file.GetStringMap("profiles." + name)
	}
	slices.Sort(c.Profiles)
	if c.Keys, err = keys(file.Get("keys")); err != nil {
		return nil, fmt.Errorf("%w (from file)", err)
	}
	all := Settings()
	profile := layers{env: env, flags: flags, file: file.AllSettings()}
	for _, s := range all { // the profile is first: the others depend on it
		v := profile.resolve(s)
		if s.Name == Profile && given != "" {
			v = Value{given, "choice"}
		}
		if s.Name == Profile {
			profile.profile, profile.settings = v.Text, c.stored[v.Text]
		}
		if err := s.Check(v.Text); err != nil {
			return nil, &ValueError{s, v, "", err}
		}
		c.values[s.Name] = v
	}
	if p := c.values[Profile]; p.Text != DefaultProfile && c.stored[p.Text] == nil {
		return nil, &ValueError{all[0], p, otherProfile(p.Text, c.Profiles), fmt.Errorf("there is no profile %q", p.Text)}
	}
	return c, nil
}

// otherProfile is what to do where there is no profile of a name.
func otherProfile(name string, names []string) string {
	if len(names) == 0 {
		return "ctx config profile add " + name
	}
	return "ctx config profile add " + name + ", or another profile: " + strings.Join(names, ", ")
}

// keys are the keys in the file: one, or a list of them, for each action.
func keys(value any) (map[string][]string, error) {
	if value == nil {
		return nil, nil
	}
	actions, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("keys: not actions with their keys, as in {pause: space}")
	}
	all := map[string][]string{}
	for name, given := range actions {
		list, many := given.([]any)
		if !many {
			list = []any{given}
		}
		all[name] = []string{}
		for _, one := range list {
			switch one.(type) {
			case string, int: // 1 is a key
				all[name] = append(all[name], fmt.Sprint(one))
			default:
				return nil, fmt.Errorf("keys.%s: not a key or a list of keys, in quotes where YAML asks for them", name)
			}
		}
	}
	return all, nil
}

// read reads the file into a viper of its own and notes what no setting is called.
func (c *Config) read() (*viper.Viper, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	text, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", c.File, err)
	}
	known := map[string]bool{"profiles": true, "keys": true}
	for _, s := range Settings() {
		known[s.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(v.AllSettings())) {
		if !known[name] {
			c.Unknown = append(c.Unknown, name)
		}
	}
	return v, nil
}

// layers are where a setting's value can come from.
type layers struct {
	env      LookupEnv
	flags    *pflag.FlagSet // nil means none
	file     map[string]any
	profile  string
	settings map[string]any // of the profile
}

func (l layers) resolve(s Setting) Value {
	if l.flags != nil && s.Flag != "" {
		if f := l.flags.Lookup(s.Flag); f != nil && f.Changed {
			return Value{f.Value.String(), "option --" + s.Flag}
		}
	}
	if text, ok := l.env(s.Env); ok && text != "" {
		return Value{text, "environment " + s.Env}
	}
	if v, ok := l.settings[s.Name]; ok && s.Name != Profile {
		return Value{fmt.Sprint(v), "profile " + l.profile}
	}
	if v, ok := l.file[s.Name]; ok {
		return Value{fmt.Sprint(v), "file"}
	}
	return Value{s.Default, "default"}
}
