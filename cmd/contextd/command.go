package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/cli"
)

// newConfig makes the commands about the settings.
func newConfig(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Write, check and reload the settings"}
	example := &cobra.Command{
		Use: "example", Short: "Print a configuration file with every setting at its default", Args: cobra.NoArgs,
		Example: "  contextd config example > config.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := config.Example(nil)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	schema := &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration file, for editors", Args: cobra.NoArgs,
		Example: "  contextd config schema > config.schema.json   # with, in the first line of config.yaml:\n" +
			"  # yaml-language-server: $schema=config.schema.json",
		RunE: func(c *cobra.Command, _ []string) error {
			enc := json.NewEncoder(c.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(config.Schema())
		},
	}
	return cli.Group(c, newInit(), newCheckConfig(s), newReload(s), example, schema)
}

// newInit makes the command that writes a configuration file.
func newInit() *cobra.Command {
	var dir, listen, contact string
	var withKey bool
	c := &cobra.Command{
		Use: "init", Short: "Write a configuration file with every setting explained", Args: cobra.NoArgs,
		Long: "Write a configuration file that explains every setting and leaves it at its default. It overwrites nothing. On\n" +
			"a terminal it asks for your e-mail address unless --contact gives it: some sources answer only who gives one.\n\n" +
			"With --dir, the file is DIR/config.yaml and the data goes to DIR/data. Otherwise the file goes to the default\n" +
			"path, or to --config.",
		Example: "  contextd config init\n  contextd config init --dir /srv/context\n" +
			"  contextd config init --config /etc/contextd/config.yaml --data-dir /var/lib/contextd",
	}
	c.Flags().StringVar(&dir, "dir", "", "a directory for configuration and data")
	c.Flags().StringVar(&listen, "listen", "", "address to serve on, for the file")
	c.Flags().StringVar(&contact, "contact", "", "your e-mail address, for sources that answer only who gives one (sources.contact)")
	c.Flags().BoolVar(&withKey, "jobs-key", false, "also make the key for a scheduler outside (jobs.key_file), beside the file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		file, _ := c.Flags().GetString("config")
		data, _ := c.Flags().GetString("data-dir")
		if file == "" {
			file = os.Getenv("CONTEXTD_CONFIG")
		}
		switch {
		case dir != "" && file != "":
			return cli.Invalid("--dir says where the file goes, and so does --config or CONTEXTD_CONFIG: use one of them")
		case dir != "":
			file = filepath.Join(dir, "config.yaml")
			if data == "" {
				data = filepath.Join(dir, "data")
			}
		case file == "":
			if file = config.DefaultFile(); file == "" {
				return cli.Invalid("there is no home for a configuration file: name one with --config")
			}
		}
		if !c.Flags().Changed("contact") && cli.IsTerminal(c.InOrStdin()) && cli.IsTerminal(c.ErrOrStderr()) {
			contact = askContact(c.InOrStdin(), c.ErrOrStderr())
		}
		return initialise(c.OutOrStdout(), file, data, listen, contact, withKey)
	}
	return c
}

// askContact asks for an e-mail address, "" for none.
func askContact(in io.Reader, out io.Writer) string {
	fmt.Fprint(out, "The SEC and BLS answer only programs that give an e-mail address. Yours (Enter for none): ")
	line, _ := bufio.NewReader(in).ReadString('\n') // what is not said is none
	return strings.TrimSpace(line)
}

// initialise writes the configuration file and says what to do next. Empty data, listen and contact keep their defaults.
func initialise(out io.Writer, file, data, listen, contact string, withKey bool) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	set := map[string]any{}
	key := filepath.Join(filepath.Dir(file), "jobs.key")
	if withKey {
		set["jobs.key_file"] = key
	}
	if data != "" {
		whole, err := filepath.Abs(data) // the daemon may be started elsewhere
		if err != nil {
			return err
		}
		set["data_dir"] = whole
	}
	if listen != "" {
		set["listen"] = listen
	}
	if contact != "" {
		if err := config.CheckContact(contact); err != nil {
			return err
		}
		set["sources.contact"] = contact
	}
	text, err := config.Example(set)
	if err != nil {
		return err
	}
	if withKey { // first: a file without its key would be no good
		if err := create(key, []byte(rand.Text()+rand.Text()+"\n")); err != nil {
			return err
		}
	}
	if err := create(file, text); err != nil {
		if withKey {
			err = errors.Join(err, os.Remove(key))
		}
		return err
	}
	with := ""
	if file != config.DefaultFile() {
		with = " --config " + cli.Quoted(file)
	}
	_, err = fmt.Fprintf(out, "wrote %s\n\n  contextd config check%[2]s\n  contextd serve%[2]s\n"+
		"  contextd keys create my-agent%[2]s\n", file, with)
	return err
}

// create writes a new file for the user alone, with the directory it is in.
func create(file string, text []byte) (err error) {
	if err := makeHome(filepath.Dir(file), user.LookupGroup); err != nil {
		return fmt.Errorf("make directory of configuration: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "exists", Err: fmt.Errorf("%s exists already and was left unchanged", file),
			Hint: "contextd config check --config " + cli.Quoted(file)}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return share(f)
}

// serviceGroup is the group of the user that a package's daemon runs as.
const serviceGroup = "contextd"

// makeHome makes the directory of a configuration, for the user alone or, where root makes it and there is such a daemon, for that to read.
func makeHome(dir string, group func(name string) (*user.Group, error)) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil || os.Geteuid() != 0 {
		return err
	}
	g, err := group(serviceGroup)
	if errors.As(err, new(user.UnknownGroupError)) {
		return nil
	}
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return err
	}
	return errors.Join(os.Chown(dir, 0, gid), os.Chmod(dir, 0o750))
}

// share lets the group of the directory read f, where root makes it: as in /etc/contextd, whose group is that of the daemon.
func share(f *os.File) error {
	var dir unix.Stat_t
	if os.Geteuid() != 0 {
		return nil
	}
	if err := unix.Stat(filepath.Dir(f.Name()), &dir); err != nil || dir.Gid == 0 {
		return err
	}
	return errors.Join(f.Chown(0, int(dir.Gid)), f.Chmod(0o640))
}
