package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"golang.org/x/term"

	"github.com/contextd/contextd/cmd/contextd/briefs"
	"github.com/contextd/contextd/cmd/contextd/cli"
	"github.com/contextd/contextd/cmd/contextd/data"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/store/upkeep"
	"github.com/contextd/contextd/daemon/web/hook"
	"github.com/contextd/contextd/daemon/web/operator"
	"github.com/contextd/contextd/sdk/api"
)

// config is the configuration: a flag wins over the environment (CONTEXTD_…), that over the file, that over the default.
type config struct {
	DataDir string `mapstructure:"data_dir"`
	Listen  string `mapstructure:"listen"`
	Log     struct {
		Level  string `mapstructure:"level"`
		Format string `mapstructure:"format"`
		Calls  bool   `mapstructure:"calls"`
	} `mapstructure:"log"`
	Admin struct {
		Listen string `mapstructure:"listen"`
	} `mapstructure:"admin"`
	Jobs struct {
		KeyFile string `mapstructure:"key_file"`
	} `mapstructure:"jobs"`
	Sources struct {
		Disabled         []string `mapstructure:"disabled"`
		CoinGeckoKeyFile string   `mapstructure:"coingecko_key_file"`
	} `mapstructure:"sources"`
	Brief briefs.Settings `mapstructure:"brief"`
	MCP   struct {
		Prefix          string   `mapstructure:"prefix"`
		Origins         []string `mapstructure:"origins"`
		PublicDiscovery bool     `mapstructure:"public_discovery"`
	} `mapstructure:"mcp"`
	Backup struct {
		Dir   string `mapstructure:"dir"`
		Every string `mapstructure:"every"` // such as 24h or 7d; "" is never
		Keep  int    `mapstructure:"keep"`
	} `mapstructure:"backup"`
	Litestream  bool `mapstructure:"litestream"`
	ownerConfig `mapstructure:",squash"`
}

// settings reads the configuration when a command asks for it.
type settings struct {
	v     *viper.Viper
	flags *pflag.FlagSet
}

// newSettings adds the global flags to flags.
func newSettings(flags *pflag.FlagSet) *settings {
	s := &settings{v: viper.New(), flags: flags}
	flags.String("config", "", "configuration file (default "+filepath.Join("~", ".config", "contextd", "config.yaml")+" if it is there)")
	flags.String("data-dir", "", "directory for databases and keys, for one daemon alone (default "+filepath.Join("~", ".local", "share", "contextd")+")")
	flags.String("log-level", "info", "debug, info, warn or error")
	flags.String("log-format", "auto", "text, json, or auto: text on a terminal")
	s.v.SetDefault("data_dir", defaultDataDir())
	s.v.SetDefault("listen", api.DefaultListen)
	s.v.SetDefault("log.level", "info")
	s.v.SetDefault("log.format", "auto")
	s.v.SetDefault("log.calls", false)
	s.v.SetDefault("admin.listen", "")
	s.v.SetDefault("jobs.key_file", "")
	s.v.SetDefault("backup.dir", "")
	s.v.SetDefault("backup.every", "")
	s.v.SetDefault("backup.keep", 7)
	s.v.SetDefault("litestream", false)
	s.v.SetDefault("sources.disabled", []string{})
	s.v.SetDefault("sources.coingecko_key_file", "")
	for key, value := range briefs.Defaults() {
		s.v.SetDefault(key, value)
	}
	s.v.SetDefault("mcp.prefix", mcp.DefaultPrefix)
	s.v.SetDefault("mcp.origins", []string{})
	s.v.SetDefault("mcp.public_discovery", false)
	s.setOwnerDefaults()
	s.v.SetEnvPrefix("CONTEXTD")
	s.v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	s.v.AutomaticEnv()
	for key, flag := range map[string]string{"data_dir": "data-dir", "log.level": "log-level", "log.format": "log-format"} {
		_ = s.v.BindPFlag(key, flags.Lookup(flag)) // fails only for a flag that is not there
	}
	return s
}

// defaultDataDir is where data goes unless told otherwise: the XDG data directory.
func defaultDataDir() string {
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "contextd")
}

// bindListen ties the flag --listen of a command to the setting.
func (s *settings) bindListen(c *cobra.Command) {
	c.Flags().String("listen", api.DefaultListen, "address to serve on; port 0 takes a free one")
	_ = s.v.BindPFlag("listen", c.Flags().Lookup("listen"))
}

// read returns the configuration and the file it came from, "" for none. An unknown name in the file is an error.
func (s *settings) read() (config, string, error) {
	file, err := s.configFile()
	if err != nil {
		return config{}, "", err
	}
	if file != "" {
		s.v.SetConfigFile(file)
		s.v.SetConfigType("yaml")
		if err := s.v.ReadInConfig(); err != nil {
			return config{}, file, fmt.Errorf("read configuration: %w", err)
		}
	}
	var c config
	if err := s.v.UnmarshalExact(&c); err != nil {
		return config{}, file, cli.Usage("read configuration %s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	return c, file, c.check()
}

// configFile is the file named by flag or environment, or the one at the usual place if it is there.
func (s *settings) configFile() (string, error) {
	if named, _ := s.flags.GetString("config"); named != "" {
		return named, nil
	}
	if named := os.Getenv("CONTEXTD_CONFIG"); named != "" {
		return named, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", nil // no home, no file
	}
	usual := filepath.Join(base, "contextd", "config.yaml")
	if _, err := os.Stat(usual); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return usual, nil
}

// check reports what is wrong with c.
func (c config) check() error {
	if c.DataDir == "" {
		return cli.Usage("no data directory: there is no home, so name one with --data-dir")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return cli.Usage("listen is %q, not host:port: %w", c.Listen, err)
	}
	if _, err := c.level(); err != nil {
		return err
	}
	if c.Admin.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Admin.Listen); err != nil {
			return cli.Usage("admin.listen is %q, not host:port: %w", c.Admin.Listen, err)
		}
	}
	if f := c.Log.Format; f != "auto" && f != "text" && f != "json" {
		return cli.Usage("log format is %q, not auto, text or json", f)
	}
	return nil
}

// level is the log level.
func (c config) level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return 0, cli.Usage("log level is %q, not debug, info, warn or error", c.Log.Level)
	}
	return l, nil
}

// logger makes the log on w.
func (c config) logger(w io.Writer) (*slog.Logger, error) {
	level, err := c.level()
	if err != nil {
		return nil, err
	}
	return newLogger(w, c.Log.Format, level), nil
}

// briefs is how briefs are written.
func (c config) briefs() (daemon.Briefs, error) {
	plan, err := c.Brief.Read()
	if err != nil && !errors.As(err, new(*fs.PathError)) {
		err = cli.Usage("%w", err)
	}
	return daemon.Briefs(plan), err
}

// daemon is c as the daemon takes it, with secrets read from their files.
func (c config) daemon(log *slog.Logger) (daemon.Config, error) {
	written, err := c.briefs()
	if err != nil {
		return daemon.Config{}, err
	}
	d := daemon.Config{DataDir: c.DataDir, Listen: c.Listen, Briefs: written, Disabled: c.Sources.Disabled, AdminListen: c.Admin.Listen, LogCalls: c.Log.Calls, MCP: daemon.MCP(c.MCP), Logger: log}
	if err := c.backUp(&d); err != nil {
		return daemon.Config{}, err
	}
	if c.Sources.CoinGeckoKeyFile != "" {
		key, err := os.ReadFile(c.Sources.CoinGeckoKeyFile)
		if err != nil {
			return daemon.Config{}, fmt.Errorf("read sources.coingecko_key_file: %w", err)
		}
		d.CoinGeckoKey = strings.TrimSpace(string(key))
	}
	if c.Jobs.KeyFile != "" {
		key, err := os.ReadFile(c.Jobs.KeyFile)
		if err != nil {
			return daemon.Config{}, fmt.Errorf("read jobs.key_file: %w", err)
		}
		if d.JobsKey = bytes.TrimSpace(key); len(d.JobsKey) < hook.MinKey {
			return daemon.Config{}, cli.Usage("the key in jobs.key_file has %d bytes, fewer than %d: make one with openssl rand -hex 32", len(d.JobsKey), hook.MinKey)
		}
	}
	return d, c.apply(&d)
}

// backUp puts into d how the daemon backs itself up.
func (c config) backUp(d *daemon.Config) (err error) {
	d.Litestream, d.Backup = c.Litestream, daemon.Backup{Dir: c.Backup.Dir, Keep: c.Backup.Keep}
	if c.Backup.Every != "" {
		if d.Backup.Every, err = parseSpan(c.Backup.Every); err != nil || d.Backup.Every < time.Minute {
			return cli.Usage("backup.every is %q, not a time such as 24h or 7d, of a minute or more", c.Backup.Every)
		}
	}
	if c.Backup.Keep < 0 {
		return cli.Usage("backup.keep is %d, not 0 (all) or more", c.Backup.Keep)
	}
	return nil
}

// data is what the commands for backups work on.
func (s *settings) data() (data.Config, error) {
	cfg, _, err := s.read()
	return data.Config{Dir: cfg.DataDir, BackupDir: cfg.Backup.Dir, Keep: cfg.Backup.Keep, Now: time.Now}, err
}

// newLogger makes the log on w: text for people, JSON for machines, unless format says which.
func newLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	f, ok := w.(*os.File)
	if format == "text" || format == "auto" && ok && term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// operate opens the data directory for act.
func (s *settings) operate(c *cobra.Command, act func(o *operator.Operator) error) (err error) {
	cfg, _, err := s.read()
	if err != nil {
		return err
	}
	return cfg.operate(c, operator.Config{}, act)
}

// newBrief makes the commands on briefs.
func newBrief(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "brief", Short: "Try a brief out, and check those published"}
	cli.AddGroup(c, briefs.Commands(func(c *cobra.Command, act func(o briefs.Operator) error) error {
		cfg, _, err := s.read()
		if err != nil {
			return err
		}
		written, err := cfg.briefs()
		if err != nil {
			return err
		}
		more := daemon.BriefRoutes(daemon.Config{DataDir: cfg.DataDir, Briefs: written, Logger: slog.New(slog.DiscardHandler)})
		return cfg.operate(c, operator.Config{More: more}, func(o *operator.Operator) error { return act(o) })
	})...)
	return c
}

// operate opens the data directory of c for act.
func (c config) operate(command *cobra.Command, settings operator.Config, act func(o *operator.Operator) error) (err error) {
	settings.DataDir, settings.Env, settings.MaxKeys = c.DataDir, api.EnvOfChain(c.Chain.ID), c.Limits.ActiveKeys
	settings.BeforeUpgrade = upkeep.BeforeUpgrade
	o, err := operator.Open(command.Context(), settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return act(o)
}
