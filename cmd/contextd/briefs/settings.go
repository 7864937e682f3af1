// Package briefs is what contextd has on briefs: their part of the configuration, and the commands that try one out and check those
// published.
package briefs

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/internal/usdg"
)

// Settings is the part of the configuration that concerns briefs, below the name brief.
type Settings struct {
	At      string `mapstructure:"at"`
	Timeout string `mapstructure:"timeout"` // of one text
	LLM     struct {
		Provider            string `mapstructure:"provider"` // "" for the built-in writer alone
		Model               string `mapstructure:"model"`
		BaseURL             string `mapstructure:"base_url"`
		KeyFile             string `mapstructure:"key_file"`
		MaxTokens           int64  `mapstructure:"max_tokens"`
		Retries             int    `mapstructure:"retries"`
		TokensPerDay        int64  `mapstructure:"tokens_per_day"` // 0 is without bound, as below
		USDPerDay           string `mapstructure:"usd_per_day"`
		USDPerMillionInput  string `mapstructure:"usd_per_million_input"`
		USDPerMillionOutput string `mapstructure:"usd_per_million_output"`
	} `mapstructure:"llm"`
}

// Defaults are the values of the settings, by their whole names, where nothing says otherwise.
func Defaults() map[string]any {
	return map[string]any{
		"brief.at": "12:00", "brief.timeout": pipeline.DefaultTextWithin.String(),
		"brief.llm.provider": "", "brief.llm.model": "", "brief.llm.base_url": "", "brief.llm.key_file": "",
		"brief.llm.max_tokens": llm.DefaultMaxTokens, "brief.llm.retries": llm.DefaultRetries, "brief.llm.tokens_per_day": llm.DefaultTokens,
		"brief.llm.usd_per_day": "0", "brief.llm.usd_per_million_input": "0", "brief.llm.usd_per_million_output": "0",
	}
}

// Plan is how briefs are written, as daemon.Briefs.
type Plan struct {
	At         time.Duration // time of day, UTC
	TextWithin time.Duration // bound of one text
	Model      *llm.Config   // nil for the built-in writer alone
}

// Read is s as the daemon takes it, with the key read from its file. Only a file that cannot be read is not a mistake in s.
func (s Settings) Read() (p Plan, err error) {
	if p, err = s.schedule(); err != nil || s.LLM.Provider == "" {
		return p, err
	}
	cfg := llm.Config{Provider: llm.Provider(s.LLM.Provider), Model: s.LLM.Model, BaseURL: s.LLM.BaseURL,
		MaxTokens: s.LLM.MaxTokens, Retries: s.LLM.Retries, Limit: brief.Limit{Tokens: s.LLM.TokensPerDay}}
	for _, amount := range []struct {
		name, text string
		to         *int64
	}{
		{"usd_per_day", s.LLM.USDPerDay, &cfg.Limit.CostMicros},
		{"usd_per_million_input", s.LLM.USDPerMillionInput, &cfg.Prices.Input},
		{"usd_per_million_output", s.LLM.USDPerMillionOutput, &cfg.Prices.Output},
	} {
		n, err := usdg.ParseAmount(amount.text)
		if err != nil {
			return p, fmt.Errorf("brief.llm.%s is %q, not an amount such as 1.50", amount.name, amount.text)
		}
		*amount.to = int64(n)
	}
	if cfg.MaxTokens < 1 {
		return p, fmt.Errorf("brief.llm.max_tokens is %d, not 1 or more", cfg.MaxTokens)
	}
	if s.LLM.KeyFile != "" {
		key, err := os.ReadFile(s.LLM.KeyFile)
		if err != nil {
			return p, fmt.Errorf("read brief.llm.key_file: %w", err)
		}
		cfg.Key = strings.TrimSpace(string(key))
	}
	if _, err := llm.New(cfg); err != nil {
		return p, fmt.Errorf("brief.llm: %w", err)
	}
	p.Model = &cfg
	return p, nil
}

// schedule is the part of s that is not about a model.
func (s Settings) schedule() (p Plan, err error) {
	at, err := time.Parse("15:04", s.At)
	if err != nil {
		return p, fmt.Errorf("brief.at is %q, not a time of day such as 12:00 (UTC)", s.At)
	}
	p.At = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if p.TextWithin, err = time.ParseDuration(s.Timeout); err != nil || p.TextWithin < time.Second {
		return p, fmt.Errorf("brief.timeout is %q, not a time of at least 1s, such as 2m", s.Timeout)
	}
	return p, nil
}

// Rows are names and values of s, for who wants to know what is in effect.
func (s Settings) Rows() [][2]string {
	rows := [][2]string{{"brief.at", s.At + " UTC"}, {"brief.timeout", s.Timeout}}
	if s.LLM.Provider == "" {
		return append(rows, [2]string{"brief.llm", "none: the built-in writer"})
	}
	text := s.LLM.Provider + "/" + s.LLM.Model
	if u, err := url.Parse(s.LLM.BaseURL); err == nil && u.Host != "" {
		text += " at " + u.Host
	}
	return append(rows, [2]string{"brief.llm", fmt.Sprintf("%s, at most %d tokens and %s USD a day (0 is without bound)",
		text, s.LLM.TokensPerDay, s.LLM.USDPerDay)})
}
