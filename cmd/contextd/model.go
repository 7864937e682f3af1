package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/internal/usdg"
)

// briefConfig is the part of the configuration that concerns briefs, below the name brief.
type briefConfig struct {
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

// read is c as the daemon takes it, with the key read from its file. Only a file that cannot be read is not a mistake in c.
func (c briefConfig) read() (p daemon.Briefs, err error) {
	if p, err = c.schedule(); err != nil || c.LLM.Provider == "" {
		return p, err
	}
	cfg := llm.Config{Provider: llm.Provider(c.LLM.Provider), Model: c.LLM.Model, BaseURL: c.LLM.BaseURL,
		MaxTokens: c.LLM.MaxTokens, Retries: c.LLM.Retries, Limit: brief.Limit{Tokens: c.LLM.TokensPerDay}}
	for _, amount := range []struct {
		name, text string
		to         *int64
	}{
		{"usd_per_day", c.LLM.USDPerDay, &cfg.Limit.CostMicros},
		{"usd_per_million_input", c.LLM.USDPerMillionInput, &cfg.Prices.Input},
		{"usd_per_million_output", c.LLM.USDPerMillionOutput, &cfg.Prices.Output},
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
	if c.LLM.KeyFile != "" {
		key, err := os.ReadFile(c.LLM.KeyFile)
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

// schedule is the part of c that is not about a model.
func (c briefConfig) schedule() (p daemon.Briefs, err error) {
	at, err := time.Parse("15:04", c.At)
	if err != nil {
		return p, fmt.Errorf("brief.at is %q, not a time of day such as 12:00 (UTC)", c.At)
	}
	p.At = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if p.TextWithin, err = time.ParseDuration(c.Timeout); err != nil || p.TextWithin < time.Second {
		return p, fmt.Errorf("brief.timeout is %q, not a time of at least 1s, such as 2m", c.Timeout)
	}
	return p, nil
}
