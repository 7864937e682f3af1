package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// alertSettings say what the operator is told of.
func alertSettings() []Setting {
	return []Setting{{
		Key: "alerts", Default: []map[string]any{}, Live: true,
		Doc: "What the operator is told of: flags that go up, by a webhook or by mail. Such as " +
			"[{name: peg, severity: critical, url: \"https://hooks.example.org/peg\", mail: [ops@example.org]}].",
		Members: []Setting{
			{Key: "name", Default: "", Doc: "By this it is known in journal, log and metrics; one for each."},
			{Key: "pack", Default: api.DefaultPack, Doc: "Whose flags."},
			{Key: "severity", Default: string(api.SeverityWarning), Doc: "The least severity.",
				Enum: []string{string(api.SeverityNotice), string(api.SeverityWarning), string(api.SeverityCritical)}},
			{Key: "kinds", Default: []string{}, Doc: "Kinds of flags. Empty means all."},
			{Key: "url", Default: "", Secret: true, Doc: "Webhook that each event is posted to."},
			{Key: "url_file", Default: "", Doc: "File with that address, where it is a secret; instead of url."},
			{Key: "secret_file", Default: "", Doc: "File with the secret that posts are signed with."},
			{Key: "mail", Default: []string{}, Doc: "Addresses that each event is mailed to."},
			{Key: "cooldown", Default: "", Doc: "Time between two events of a flag, such as 6h; one that stands after it is told again. " +
				"Empty means once."},
			{Key: "ended", Default: false, Doc: "Whether ends are told too."},
		},
	}}
}

// alertConfig is one alert of the configuration.
type alertConfig struct {
	Name       string   `mapstructure:"name"`
	Pack       string   `mapstructure:"pack"`
	Severity   string   `mapstructure:"severity"`
	Kinds      []string `mapstructure:"kinds"`
	URL        string   `mapstructure:"url"`
	URLFile    string   `mapstructure:"url_file"`
	SecretFile string   `mapstructure:"secret_file"`
	Mail       []string `mapstructure:"mail"`
	Cooldown   string   `mapstructure:"cooldown"`
	Ended      bool     `mapstructure:"ended"`
}

// alerts are those of c as the daemon takes them, with secrets read from their files.
func (c config) alerts() (list []operate.Alert, err error) {
	for i, a := range c.Alerts {
		one := operate.Alert{Name: a.Name, Pack: a.Pack, Severity: api.Severity(a.Severity), Kinds: a.Kinds,
			URL: a.URL, Mail: a.Mail, Ended: a.Ended}
		if a.URL != "" && a.URLFile != "" {
			return nil, cli.Invalid("alerts[%d] has url and url_file: use one of them", i)
		}
		if a.URLFile != "" {
			text, err := os.ReadFile(a.URLFile)
			if err != nil {
				return nil, fmt.Errorf("read alerts[%d].url_file: %w", i, err)
			}
			if one.URL = strings.TrimSpace(string(text)); one.URL == "" {
				return nil, cli.Invalid("alerts[%d].url_file: %s is empty", i, a.URLFile)
			}
		}
		if a.SecretFile != "" {
			text, err := os.ReadFile(a.SecretFile)
			if err != nil {
				return nil, fmt.Errorf("read alerts[%d].secret_file: %w", i, err)
			}
			if one.Secret = bytes.TrimSpace(text); len(one.Secret) == 0 {
				return nil, cli.Invalid("alerts[%d].secret_file: %s is empty", i, a.SecretFile)
			}
		}
		if a.Cooldown != "" {
			if one.Cooldown, err = parseSpan(a.Cooldown); err != nil || one.Cooldown < time.Minute {
				return nil, cli.Invalid("alerts[%d].cooldown is %q, not a time such as 6h or 1d, of a minute or more", i, a.Cooldown)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// names are those of the entries of a list of settings, after read.
func (s *settings) names(key string) []string {
	names := []string{}
	if key == railsKey {
		for _, r := range s.rails {
			names = append(names, r.String())
		}
		return names
	}
	for _, a := range s.alerts {
		names = append(names, a.Name)
	}
	return names
}

// filesSum sums up what is in the files that the entries of a list of settings name, after read.
func (s *settings) filesSum(key string) (sum [sha256.Size]byte) {
	var files []string
	if key == railsKey {
		for _, r := range s.rails {
			files = append(files, r.RPCURLFile, r.Settle.KeyFile)
		}
	} else {
		for _, a := range s.alerts {
			files = append(files, a.URLFile, a.SecretFile)
		}
	}
	h := sha256.New()
	for _, file := range files {
		text, _ := os.ReadFile(file) // read has said what is wrong with it
		fmt.Fprintf(h, "%d %s", len(text), text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
