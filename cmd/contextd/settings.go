package main

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// settings reads the configuration for the commands. It is for one goroutine at a time.
type settings struct{ *config.Loader }

// data is what the commands for backups work on.
func (s *settings) data() (dataConfig, error) {
	cfg, err := s.Load()
	if err != nil {
		return dataConfig{}, err
	}
	storeURL, err := cfg.StoreURL()
	key, errKey := cfg.StoreKey()
	backups, errBackups := cfg.Backups()
	return dataConfig{Dir: cfg.DataDir, StoreURL: storeURL, StoreKey: key, Backup: backups, Now: time.Now},
		errors.Join(err, errKey, errBackups)
}

// newLogger makes the log on w: short lines on a terminal, JSON elsewhere, unless format says which. A time that is none is
// not written.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime && a.Value.Time().IsZero() {
			return slog.Attr{}
		}
		return a
	}}
	switch {
	case format == "text":
		return slog.New(slog.NewTextHandler(w, options))
	case format == "auto" && cli.IsTerminal(w):
		return slog.New(cli.NewShortLog(w, level, cli.OS().Style(true)))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// operate opens the data directory for act.
func (s *settings) operate(c *cobra.Command, act func(o *admin.Operator) error) (err error) {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	if err := checkDirectory(cfg); err != nil {
		return err
	}
	return operateOn(cfg, c, admin.Config{}, act)
}

// operateOn opens the data directory of cfg for act.
func operateOn(cfg *config.Config, c *cobra.Command, with admin.Config, act func(o *admin.Operator) error) (err error) {
	with.DataDir, with.Env, with.MaxKeys = cfg.DataDir, api.EnvOfChain(cfg.ChainID()), cfg.Limits.ActiveKeys
	with.Metered = cfg.Metered()
	if with.StoreURL, err = cfg.StoreURL(); err != nil {
		return err
	}
	o, err := admin.Open(c.Context(), with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return act(o)
}

// checkDirectory refuses a data directory that a flag names and that is not there: no command but serve, demo and restore makes one.
func checkDirectory(cfg *config.Config) error {
	if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) && cfg.DirNamed() {
		return noDirectory(cfg.DataDir)
	}
	return nil
}
