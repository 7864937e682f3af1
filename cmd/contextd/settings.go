package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// config is the configuration: a flag wins over the environment (CONTEXTD_…), that over the file, that over the default.
type config struct {
	DataDir string `mapstructure:"data_dir"`
	Store   struct {
		URL     string `mapstructure:"url"`
		URLFile string `mapstructure:"url_file"` // where the URL holds a secret
		KeyFile string `mapstructure:"key_file"` // seals secrets
	} `mapstructure:"store"`
	Listen string `mapstructure:"listen"`
	Drain  string `mapstructure:"drain_delay"`
	TLS    struct {
		CertFile string `mapstructure:"cert_file"`
		KeyFile  string `mapstructure:"key_file"`
		ACME     struct {
			Hosts        []string `mapstructure:"hosts"`
			Email        string   `mapstructure:"email"`
			DirectoryURL string   `mapstructure:"directory_url"`
		} `mapstructure:"acme"`
	} `mapstructure:"tls"`
	Log struct {
		Level  string `mapstructure:"level"`
		Format string `mapstructure:"format"`
		Calls  bool   `mapstructure:"calls"`

		Witnesses []string `mapstructure:"witnesses"`
	} `mapstructure:"log"`
	Admin struct {
		Listen string `mapstructure:"listen"`
	} `mapstructure:"admin"`
	Jobs struct {
		KeyFile string `mapstructure:"key_file"`
	} `mapstructure:"jobs"`
	Web struct {
		Page string `mapstructure:"page"`
	} `mapstructure:"web"`
	Packs   packSettings `mapstructure:"packs"`
	Sources struct {
		Disabled         []string `mapstructure:"disabled"`
		CoinGeckoKeyFile string   `mapstructure:"coingecko_key_file"`
	} `mapstructure:"sources"`
	Brief briefConfig `mapstructure:"brief"`
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
	Litestream  bool          `mapstructure:"litestream"`
	Alerts      []alertConfig `mapstructure:"alerts"`
	ownerConfig `mapstructure:",squash"`
}

// settings reads the configuration when a command asks for it. It is for one goroutine at a time.
type settings struct {
	v     *viper.Viper
	flags map[string]*pflag.Flag // by the setting they are for
	file  *pflag.Flag            // names the configuration file
	lines Lines                  // of the file that was read last

	alerts []alertConfig // that were read last, as the next
	rails  []railConfig
}

// newSettings adds the global flags to flags.
func newSettings(flags *pflag.FlagSet) *settings {
	s := &settings{v: viper.New(), flags: map[string]*pflag.Flag{}}
	flags.String("config", "", "configuration file (default "+filepath.Join("~", ".config", "contextd", "config.yaml")+" if it is there)")
	flags.String("data-dir", "",
		"directory for databases and keys, for one daemon alone (default "+filepath.Join("~", ".local", "share", "contextd")+")")
	flags.String("log-level", "info", "debug, info, warn or error")
	flags.String("log-format", "auto", "text, json, or auto: short lines on a terminal")
	s.file = flags.Lookup("config")
	s.v.SetEnvPrefix("CONTEXTD")
	s.v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	s.v.AutomaticEnv()
	for key, flag := range map[string]string{"data_dir": "data-dir", "log.level": "log-level", "log.format": "log-format"} {
		s.bind(key, flags.Lookup(flag))
	}
	return s
}

// bind ties a flag to a setting.
func (s *settings) bind(key string, flag *pflag.Flag) {
	s.flags[key] = flag
	_ = s.v.BindPFlag(key, flag) // fails only for a flag that is not there
}

// bindListen ties the flag --listen of a command to the setting.
func (s *settings) bindListen(c *cobra.Command) {
	c.Flags().String("listen", api.DefaultListen, "address to serve on; port 0 takes a free one")
	s.bind("listen", c.Flags().Lookup("listen"))
}

// read returns the configuration and the file it came from, "" for none. What the file has to have otherwise is an error for each line.
func (s *settings) read() (config, string, error) {
	for _, row := range Table() {
		if !row.Section() {
			s.v.SetDefault(row.Key, row.Default)
		}
		if file := row.CredentialFile(); file != "" {
			s.v.SetDefault(row.Key, file)
		}
	}
	s.v.SetDefault("data_dir", DefaultDataDir())
	file := s.configFile()
	if err := s.load(file); err != nil {
		return config{}, file, err
	}
	var c config
	if err := s.v.UnmarshalExact(&c, viper.DecodeHook(decodeList)); err != nil {
		return config{}, file, cli.Invalid("read configuration %s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	c.DataDir, s.alerts = cmp.Or(c.DataDir, DefaultDataDir()), c.Alerts
	s.rails = c.Rails
	c.Packs.Dir = cmp.Or(c.Packs.Dir, filepath.Join(filepath.Dir(cmp.Or(file, DefaultFile())), "packs"))
	if err := c.check(); err != nil {
		return c, file, err
	}
	return c, file, s.oneForm()
}

// load reads the configuration file, "" for none.
func (s *settings) load(file string) error {
	var text []byte
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return cli.Invalid("read configuration: %w", err).
				WithHint("contextd init --config %s makes it, or check the path", quoted(file))
		}
	}
	lines, err := Parse(text)
	if err != nil {
		return cli.Invalid("%s: %w", file, err)
	}
	s.v.SetConfigType("yaml")
	if err := s.v.ReadConfig(bytes.NewReader(text)); err != nil {
		return cli.Invalid("%s: %w", file, err)
	}
	s.lines = lines
	return nil
}

// configFile is the file named by flag or environment, or the one at the usual place if it is there.
func (s *settings) configFile() string {
	if named := cmp.Or(s.file.Value.String(), os.Getenv("CONTEXTD_CONFIG")); named != "" {
		return named
	}
	usual := DefaultFile()
	if _, err := os.Stat(usual); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return usual
}

// list is the value of a setting that is a list. In the environment that is a text, with commas or spaces between.
func list(value any) (values []string) {
	switch v := value.(type) {
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	case []any:
		for _, one := range v {
			values = append(values, fmt.Sprint(one))
		}
		return values
	default:
		values, _ = v.([]string)
		return values
	}
}

// decodeList lets viper read lists as list does.
func decodeList(_, to reflect.Type, value any) (any, error) {
	if to == reflect.TypeFor[[]string]() {
		return list(value), nil
	}
	return value, nil
}

// effective lists what is in effect, after read.
func (s *settings) effective() []Value {
	var values []Value
	for _, row := range Table() {
		if row.Section() {
			continue
		}
		value, from := s.v.Get(row.Key), "default"
		switch row.Default.(type) {
		case []string:
			value = list(value)
		case []map[string]any:
			value = s.names(row.Key) // what else is in them may be secret
		}
		flag := s.flags[row.Key]
		switch line := s.lines[row.Key]; {
		case flag != nil && flag.Changed:
			from = "--" + flag.Name
		case os.Getenv(row.Env()) != "":
			from = row.Env()
		case line > 0:
			from = fmt.Sprintf("file, line %d", line)
		case row.CredentialFile() != "":
			from = "credential " + row.Credential()
		}
		values = append(values, NewValue(row, value, from))
	}
	return values
}

// check reports what is wrong with c.
func (c config) check() error {
	if c.DataDir == "" {
		return cli.Invalid("no data directory: there is no home, so name one with --data-dir")
	}
	if err := web.CheckListen(c.Listen); err != nil {
		return cli.Invalid("listen: %w", err)
	}
	if _, err := c.level(); err != nil {
		return err
	}
	if c.Admin.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Admin.Listen); err != nil {
			return cli.Invalid("admin.listen is %q, not host:port such as 127.0.0.1:8403", c.Admin.Listen)
		}
	}
	if f := c.Log.Format; f != "auto" && f != "text" && f != "json" {
		return cli.Invalid("log format is %q, not auto, text or json", f)
	}
	return nil
}

// level is the log level.
func (c config) level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return 0, cli.Invalid("log level is %q, not debug, info, warn or error", c.Log.Level)
	}
	return l, nil
}

// storeURL is that of the PostgreSQL database, "" for SQLite.
func (c config) storeURL() (string, error) {
	text, err := urlOrFile("store.url", c.Store.URL, c.Store.URLFile)
	if err != nil || text == "" {
		return "", err
	}
	if err := database.CheckURL(text); err != nil {
		return "", cli.Invalid("store.url: %w", err)
	}
	return text, nil
}

// storeKey is the key that seals secrets in the database, nil for none.
func (c config) storeKey() ([]byte, error) {
	if c.Store.KeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Store.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read store.key_file: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != store.SealSize {
		return nil, cli.Invalid("the key in store.key_file is not %d hexadecimal digits: make one with openssl rand -hex %d",
			2*store.SealSize, store.SealSize)
	}
	return key, nil
}

// briefs is how briefs are written.
func (c config) briefs() (daemon.Briefs, error) {
	briefs, err := c.Brief.read()
	if err != nil && !errors.As(err, new(*fs.PathError)) {
		err = cli.Invalid("%w", err)
	}
	return briefs, err
}

// daemon is c as the daemon takes it, with secrets read from their files.
func (c config) daemon(log *slog.Logger) (daemon.Config, error) {
	written, err := c.briefs()
	if err != nil {
		return daemon.Config{}, err
	}
	storeURL, err := c.storeURL()
	if err != nil {
		return daemon.Config{}, err
	}
	d := daemon.Config{
		DataDir: c.DataDir, StoreURL: storeURL,
		Serve:   daemon.Serve{Listen: c.Listen, Page: web.PageMode(c.Web.Page), MCP: daemon.MCP(c.MCP)},
		Data:    daemon.Data{Briefs: written},
		Operate: daemon.Operate{AdminListen: c.Admin.Listen, LogCalls: c.Log.Calls}, Logger: log,
	}
	d.Disabled, d.PrivateHosts = c.Sources.Disabled, c.Packs.PrivateHosts
	if d.Packs, err = c.Packs.load(); err != nil {
		return daemon.Config{}, fmt.Errorf("packs.enabled: %w", err)
	}
	for _, text := range c.Log.Witnesses {
		key, address, _ := strings.Cut(strings.TrimSpace(text), " ")
		d.Witnesses = append(d.Witnesses, witness.Witness{Key: key, URL: strings.TrimSpace(address)})
	}
	if d.Alerts, err = c.alerts(); err != nil {
		return daemon.Config{}, err
	}
	if err = c.backUp(&d); err != nil {
		return daemon.Config{}, err
	}
	if d.Drain, err = time.ParseDuration(c.Drain); err != nil || d.Drain < 0 {
		return daemon.Config{}, cli.Invalid("drain_delay is %q, not a time such as 5s", c.Drain)
	}
	if d.TLS, err = c.certificates(); err != nil {
		return daemon.Config{}, err
	}
	if err = c.keys(&d); err != nil {
		return daemon.Config{}, err
	}
	return d, c.apply(&d)
}

// keys puts into d the keys that files hold.
func (c config) keys(d *daemon.Config) (err error) {
	if d.StoreKey, err = c.storeKey(); err != nil {
		return err
	}
	if c.Sources.CoinGeckoKeyFile != "" {
		key, err := os.ReadFile(c.Sources.CoinGeckoKeyFile)
		if err != nil {
			return fmt.Errorf("read sources.coingecko_key_file: %w", err)
		}
		d.CoinGeckoKey = strings.TrimSpace(string(key))
	}
	if c.Jobs.KeyFile != "" {
		key, err := os.ReadFile(c.Jobs.KeyFile)
		if err != nil {
			return fmt.Errorf("read jobs.key_file: %w", err)
		}
		if d.JobsKey = bytes.TrimSpace(key); len(d.JobsKey) < web.MinJobsKey {
			return cli.Invalid("the key in jobs.key_file has %d bytes, fewer than %d: make one with openssl rand -hex 32",
				len(d.JobsKey), web.MinJobsKey)
		}
	}
	return nil
}

// certificates are those of HTTPS, nil for plain HTTP.
func (c config) certificates() (*web.Certificates, error) {
	files := c.TLS.CertFile != "" || c.TLS.KeyFile != ""
	switch {
	case !files && len(c.TLS.ACME.Hosts) == 0:
		return nil, nil
	case files && len(c.TLS.ACME.Hosts) > 0:
		return nil, cli.Invalid("tls has certificate files and tls.acme.hosts: use one of them")
	case files && (c.TLS.CertFile == "" || c.TLS.KeyFile == ""):
		return nil, cli.Invalid("tls.cert_file and tls.key_file are needed together")
	}
	from := &web.Certificates{
		CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile,
		Hosts: c.TLS.ACME.Hosts, Email: c.TLS.ACME.Email, Directory: c.TLS.ACME.DirectoryURL,
	}
	_, err := from.Open()
	return from, err
}

// backUp puts into d how the daemon backs itself up.
func (c config) backUp(d *daemon.Config) (err error) {
	d.Litestream, d.Backup = c.Litestream, daemon.Backup{Dir: c.Backup.Dir, Keep: c.Backup.Keep}
	if c.Backup.Every != "" {
		if d.Backup.Every, err = parseSpan(c.Backup.Every); err != nil || d.Backup.Every < time.Minute {
			return cli.Invalid("backup.every is %q, not a time such as 24h or 7d, of a minute or more", c.Backup.Every)
		}
	}
	if c.Backup.Keep < 0 {
		return cli.Invalid("backup.keep is %d, not 0 (all) or more", c.Backup.Keep)
	}
	return nil
}

// data is what the commands for backups work on.
func (s *settings) data() (dataConfig, error) {
	cfg, _, err := s.read()
	if err != nil {
		return dataConfig{}, err
	}
	storeURL, err := cfg.storeURL()
	key, errKey := cfg.storeKey()
	return dataConfig{
		Dir: cfg.DataDir, StoreURL: storeURL, StoreKey: key, BackupDir: cfg.Backup.Dir, Keep: cfg.Backup.Keep, Now: time.Now,
	}, errors.Join(err, errKey)
}

// newLogger makes the log on w: short lines on a terminal, JSON elsewhere, unless format says which.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
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
	cfg, _, err := s.read()
	if err != nil {
		return err
	}
	if err := s.directory(cfg.DataDir); err != nil {
		return err
	}
	return cfg.operate(c, admin.Config{}, act)
}

// directory refuses a data directory that a flag names and that is not there: no command but serve, demo and restore makes one.
func (s *settings) directory(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && s.flags["data_dir"].Changed {
		return noDirectory(dir)
	}
	return nil
}

// newBrief makes the commands on briefs.
func newBrief(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "brief", Short: "Preview a brief, and check published ones"}
	cli.Group(c, newBriefs(func(c *cobra.Command, act func(o *admin.Operator) error) error {
		cfg, _, err := s.read()
		if err != nil {
			return err
		}
		if err := s.directory(cfg.DataDir); err != nil {
			return err
		}
		written, err := cfg.briefs()
		if err != nil {
			return err
		}
		storeURL, err := cfg.storeURL()
		if err != nil {
			return err
		}
		editor := daemon.OpenEditor(daemon.Config{
			DataDir: cfg.DataDir, StoreURL: storeURL, Data: daemon.Data{Briefs: written}, Logger: slog.New(slog.DiscardHandler),
		})
		return cfg.operate(c, admin.Config{OpenEditor: editor}, act)
	})...)
	return c
}
