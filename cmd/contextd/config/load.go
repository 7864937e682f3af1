package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/setting"
	"github.com/contextd/contextd/sdk/api"
)

// Table lists every setting in the order of the file, each section before what is in it.
func Table() []setting.Setting { return setting.Table(reflect.TypeFor[Config]()) }

// Env is the environment variable of a setting.
func Env(key string) string {
	return "CONTEXTD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// fileSuffix ends the names of settings that name a file.
const fileSuffix = "_file"

// Credential is the name that the file of a setting has in $CREDENTIALS_DIRECTORY, "" for a setting that names no file.
func Credential(key string) string {
	name, ok := strings.CutSuffix(key, fileSuffix)
	if !ok {
		return ""
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(name)
}

// credentialFile is the file of a setting in $CREDENTIALS_DIRECTORY, where systemd puts what LoadCredential= names; "" if there is none.
func credentialFile(key string) string {
	dir, name := os.Getenv("CREDENTIALS_DIRECTORY"), Credential(key)
	if dir == "" || name == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// DefaultDataDir is where data goes unless told otherwise: the XDG data directory. It is "" without a home.
func DefaultDataDir() string {
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

// DefaultFile is the configuration file that is read unless told otherwise. It is "" without a home.
func DefaultFile() string {
	base, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "contextd", "config.yaml")
}

// Loader reads the configuration when a command asks for it.
type Loader struct {
	flags map[string]*pflag.Flag // by the setting they are for
	file  *pflag.Flag            // names the configuration file
}

// NewLoader adds the global flags to flags.
func NewLoader(flags *pflag.FlagSet) *Loader {
	l := &Loader{flags: map[string]*pflag.Flag{}}
	flags.String("config", "", "configuration file (default "+filepath.Join("~", ".config", "contextd", "config.yaml")+" if it is there)")
	flags.String("data-dir", "",
		"directory for databases and keys, for one daemon alone (default "+filepath.Join("~", ".local", "share", "contextd")+")")
	flags.String("log-level", "info", "debug, info, warn or error")
	flags.String("log-format", "auto", "text, json, or auto: short lines on a terminal")
	l.file = flags.Lookup("config")
	for key, flag := range map[string]string{"data_dir": "data-dir", "log.level": "log-level", "log.format": "log-format"} {
		l.flags[key] = flags.Lookup(flag)
	}
	return l
}

// BindServe adds to a command the flags that are settings of serving.
func (l *Loader) BindServe(c *cobra.Command) {
	c.Flags().String("listen", api.DefaultListen, "address to serve on; port 0 takes a free one")
	c.Flags().String("admin-listen", "", "address for metrics and profiles, such as 127.0.0.1:8403; none unless set")
	l.flags["listen"], l.flags["admin.listen"] = c.Flags().Lookup("listen"), c.Flags().Lookup("admin-listen")
}

// Load reads the configuration, its File even if it fails. What the file has to have otherwise is an error for each line.
func (l *Loader) Load() (*Config, error) {
	c := &Config{File: l.configFile(), origin: map[string]string{}}
	v := reflect.ValueOf(c).Elem()
	if err := setting.SetDefaults(v); err != nil {
		return c, err
	}
	for _, row := range Table() {
		if file := credentialFile(row.Key); file != "" {
			row.In(v).SetString(file)
			c.origin[row.Key] = "credential " + Credential(row.Key)
		}
	}
	if err := c.readFile(); err != nil {
		return c, err
	}
	for _, row := range Table() {
		text, from := os.Getenv(Env(row.Key)), Env(row.Key)
		if flag := l.flags[row.Key]; flag != nil && flag.Changed {
			text, from = flag.Value.String(), "--"+flag.Name
		} else if text == "" {
			continue
		}
		if row.Section() {
			continue
		}
		if err := setting.SetText(row.In(v), text); err != nil {
			return c, cli.Invalid("%s: %s %w", from, row.Key, err)
		}
		c.origin[row.Key] = from
	}
	c.DataDir, c.Log.Level = cmp.Or(c.DataDir, DefaultDataDir()), strings.ToLower(c.Log.Level)
	c.Packs.beside = filepath.Join(filepath.Dir(cmp.Or(c.File, DefaultFile())), "packs")
	return c, c.check()
}

// configFile is the file named by flag or environment, or the one at the usual place if it is there.
func (l *Loader) configFile() string {
	if named := cmp.Or(l.file.Value.String(), os.Getenv("CONTEXTD_CONFIG")); named != "" {
		return named
	}
	usual := DefaultFile()
	if _, err := os.Stat(usual); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return usual
}

// readFile reads the configuration file, if there is one.
func (c *Config) readFile() error {
	if c.File == "" {
		return nil
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		return cli.Invalid("read configuration: %w", err).
			WithHint("contextd config init --config %s makes it, or check the path", cli.Quoted(c.File))
	}
	lines, err := c.parse(text)
	if err != nil {
		return cli.Invalid("%s: %w", c.File, err)
	}
	for key, line := range lines {
		c.origin[key] = fmt.Sprintf("file, line %d", line)
	}
	return nil
}

// Parse reads the text of a configuration file strictly and returns the lines, from 1, in which it sets what. Names of no setting, names
// set twice and values of another kind are errors, all of them at once, each with its line.
func Parse(text []byte) (map[string]int, error) { return new(Config).parse(text) }

func (c *Config) parse(text []byte) (map[string]int, error) {
	r := setting.NewReader(form())
	r.Read(text, c)
	maps.DeleteFunc(r.Lines, func(key string, _ int) bool { return r.Null[key] })
	return r.Lines, r.Err()
}

func form() setting.Form { return setting.Form{Root: "the file", Aliases: true, Hint: hint} }

// hint says which setting is meant by a name that is none, or which there are in its section.
func hint(path string, names []string) string {
	section, _, within := cutLast(path)
	if strings.Contains(path, "[") { // in an entry
		return "it has " + strings.Join(names, ", ")
	}
	if near := Nearest(path); near != "" {
		return "did you mean " + near + "?"
	}
	if within {
		return section + " has " + strings.Join(names, ", ")
	}
	return "contextd config example shows all there are"
}

// Nearest is the setting whose name is most like path, "" if none is like it. A name without its section is as good as the whole.
func Nearest(path string) string {
	whole := map[string]string{} // keys, by what they may be called
	var names []string
	for _, s := range Table() {
		_, last, _ := cutLast(s.Key)
		for _, name := range []string{s.Key, last} {
			if whole[name] == "" {
				whole[name] = s.Key
				names = append(names, name)
			}
		}
	}
	if near := human.Nearest(path, names); near != "" {
		return whole[near]
	}
	if _, last, ok := cutLast(path); ok { // in the wrong section
		return whole[last]
	}
	return ""
}

// cutLast splits path into its section and its last name.
func cutLast(path string) (section, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// check reports what is wrong with c for any command. What only a daemon minds, Daemon reports.
func (c *Config) check() error {
	if c.DataDir == "" {
		return cli.Invalid("no data directory: there is no home, so name one with --data-dir")
	}
	if err := web.CheckListen(c.Listen); err != nil {
		return cli.Invalid("listen: %w", err)
	}
	if _, err := c.Level(); err != nil {
		return err
	}
	if c.Admin.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Admin.Listen); err != nil {
			return cli.Invalid("admin.listen is %q, not host:port such as 127.0.0.1:8403", c.Admin.Listen)
		}
	}
	if len(c.Rails) == 0 {
		return nil
	}
	for _, row := range Table() {
		if section, _, _ := cutLast(row.Key); section == "chain" && c.origin[row.Key] != "" {
			return cli.Invalid("%s and rails both say where payments are made: use one of them; what was chain is a rail with the id %s",
				row.Key, api.NetworkL2)
		}
	}
	return nil
}

// Level is the log level.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return 0, cli.Invalid("log level is %q, not debug, info, warn or error", c.Log.Level)
	}
	return l, nil
}

// DirNamed reports whether a flag names the data directory.
func (c *Config) DirNamed() bool { return c.origin["data_dir"] == "--data-dir" }

// DirDefault reports whether nobody named the data directory.
func (c *Config) DirDefault() bool { return c.origin["data_dir"] == "" }

// Value is what is in effect for a setting.
type Value struct {
	Name  string `json:"setting"`
	Value any    `json:"value"` // what may be a secret only in part
	From  string `json:"from"`  // such as "default", "file, line 3", "CONTEXTD_LISTEN" or "--listen"
}

// Effective lists what is in effect. Of the entries of a list it has the names, as what else is in them may be secret.
func (c *Config) Effective() (list []Value) {
	for _, row := range Table() {
		if row.Section() {
			continue
		}
		v := row.In(reflect.ValueOf(c).Elem())
		value := v.Interface()
		switch {
		case row.Entries():
			names := make([]string, v.Len())
			for i := range names {
				names[i] = entryName(v.Index(i))
			}
			value = names
		case v.Kind() == reflect.Slice && v.Len() == 0:
			value = []string{}
		case row.Secret && v.String() != "":
			value = redact(v.String())
		}
		list = append(list, Value{Name: row.Key, Value: value, From: cmp.Or(c.origin[row.Key], "default")})
	}
	return list
}

// entryName is what anybody may see of an entry: what it writes of itself, or its first setting.
func entryName(entry reflect.Value) string {
	if named, is := entry.Interface().(fmt.Stringer); is {
		return named.String()
	}
	return setting.Members(entry.Type())[0].In(entry).String()
}

// redact is what may be seen of a URL: nothing but where it leads.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "…"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

type namedFile struct {
	key  string // of the setting, or of the list in an entry of which it is named
	name string // what people call the setting
	path string
}

// files are the files that settings name, those in the entries of lists too.
func (c *Config) files() (list []namedFile) {
	for _, row := range Table() {
		v := row.In(reflect.ValueOf(c).Elem())
		switch {
		case row.Entries():
			for i := range v.Len() {
				entry := v.Index(i)
				first := setting.Members(entry.Type())[0].In(entry).String()
				for _, m := range setting.Table(entry.Type()) {
					if Credential(m.Key) != "" && m.In(entry).String() != "" {
						list = append(list, namedFile{row.Key, row.Key + " " + first + ": " + m.Key, m.In(entry).String()})
					}
				}
			}
		case Credential(row.Key) != "" && v.String() != "":
			list = append(list, namedFile{row.Key, row.Key, v.String()})
		}
	}
	return list
}

// Settings that name files which are read again when they change. The first is the one that is no secret.
const (
	certFile    = "tls.cert_file"
	certKeyFile = "tls.key_file"
)

// SecretFiles are the files with secrets that c names, by the setting that names them.
func (c *Config) SecretFiles() map[string]string {
	files := map[string]string{}
	for _, f := range c.files() {
		if f.key != certFile {
			files[f.name] = f.path
		}
	}
	return files
}

// Warnings say what in a configuration that can be run with is probably not meant so.
func (c *Config) Warnings() (list []string) {
	known := []string{"CONTEXTD_CONFIG"}
	for _, row := range Table() {
		if !row.Section() {
			known = append(known, Env(row.Key))
		}
	}
	secrets := c.SecretFiles()
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		file := secrets[name]
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 {
			list = append(list, fmt.Sprintf("%s: everybody can read %s (mode %04o); chmod o= it", name, file, info.Mode().Perm()))
		}
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, "CONTEXTD_")
		if near := Nearest(strings.ToLower(rest)); ours && value != "" && near != "" && !slices.Contains(known, name) {
			list = append(list, fmt.Sprintf("%s is in the environment and sets nothing; did you mean %s?", name, Env(near)))
		}
	}
	return list
}
