package main

import (
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

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
)

// config is the configuration: a flag wins over the environment (CONTEXTD_…), that over the file, that over the default.
type config struct {
	DataDir string `mapstructure:"data_dir"`
	Listen  string `mapstructure:"listen"`
	Log     struct {
		Level  string `mapstructure:"level"`
		Format string `mapstructure:"format"`
	} `mapstructure:"log"`
	Sources struct {
		Disabled         []string `mapstructure:"disabled"`
		CoinGeckoKeyFile string   `mapstructure:"coingecko_key_file"`
	} `mapstructure:"sources"`
	Brief struct {
		At string `mapstructure:"at"`
	} `mapstructure:"brief"`
	MCP struct {
		Prefix          string   `mapstructure:"prefix"`
		Origins         []string `mapstructure:"origins"`
		PublicDiscovery bool     `mapstructure:"public_discovery"`
	} `mapstructure:"mcp"`
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
	s.v.SetDefault("brief.at", "12:00")
	s.v.SetDefault("sources.disabled", []string{})
	s.v.SetDefault("sources.coingecko_key_file", "")
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
		return config{}, file, usageError{fmt.Errorf("read configuration %s: %s", file, strings.Join(strings.Fields(err.Error()), " "))}
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
		return usageError{errors.New("no data directory: there is no home, so name one with --data-dir")}
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return usageError{fmt.Errorf("listen is %q, not host:port: %w", c.Listen, err)}
	}
	if _, err := c.level(); err != nil {
		return err
	}
	if f := c.Log.Format; f != "auto" && f != "text" && f != "json" {
		return usageError{fmt.Errorf("log format is %q, not auto, text or json", f)}
	}
	_, err := c.briefAt()
	return err
}

// level is the log level.
func (c config) level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return 0, usageError{fmt.Errorf("log level is %q, not debug, info, warn or error", c.Log.Level)}
	}
	return l, nil
}

// briefAt is the time of day of the daily brief.
func (c config) briefAt() (time.Duration, error) {
	t, err := time.Parse("15:04", c.Brief.At)
	if err != nil {
		return 0, usageError{fmt.Errorf("brief.at is %q, not a time of day such as 12:00 (UTC)", c.Brief.At)}
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// logger makes the log on w.
func (c config) logger(w io.Writer) (*slog.Logger, error) {
	level, err := c.level()
	if err != nil {
		return nil, err
	}
	return newLogger(w, c.Log.Format, level), nil
}

// daemon is c as the daemon takes it, with secrets read from their files.
func (c config) daemon(log *slog.Logger) (daemon.Config, error) {
	at, err := c.briefAt()
	if err != nil {
		return daemon.Config{}, err
	}
	d := daemon.Config{DataDir: c.DataDir, Listen: c.Listen, BriefAt: at, Disabled: c.Sources.Disabled, MCP: daemon.MCP(c.MCP), Logger: log}
	if c.Sources.CoinGeckoKeyFile != "" {
		key, err := os.ReadFile(c.Sources.CoinGeckoKeyFile)
		if err != nil {
			return daemon.Config{}, fmt.Errorf("read sources.coingecko_key_file: %w", err)
		}
		d.CoinGeckoKey = strings.TrimSpace(string(key))
	}
	return d, c.apply(&d)
}
