package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// newCheckConfig makes the command that checks the configuration without starting anything.
func newCheckConfig(s *settings) *cobra.Command {
	var strict, print bool
	c := &cobra.Command{
		Use: "check-config", Short: "Check the configuration, and print what is in effect", Args: cobra.NoArgs,
		Long: "Check the configuration without starting anything. Errors give exit code 3; with --strict, so do warnings.",
		Example: "  contextd check-config --config /etc/contextd/config.yaml\n  contextd check-config --print-effective\n" +
			"  contextd check-config --print-effective -o json",
	}
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.Flags().BoolVar(&print, "print-effective", false, "print every setting with its value and origin, without secrets")
	out := cli.AddOutput(c, slices.Concat(cli.FieldsIn(Value{}), cli.FieldsIn(checked{}))...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, file, err := s.read()
		if err != nil {
			return err
		}
		would, err := cfg.daemon(nil)
		if err != nil {
			return err
		}
		if err := would.Check(); err != nil {
			return cli.Invalid("%w", err)
		}
		warnings := s.warnings()
		for _, w := range warnings {
			fmt.Fprintln(c.ErrOrStderr(), "warning: "+w)
		}
		if strict && len(warnings) > 0 {
			return cli.Invalid("there are warnings, and --strict takes them for errors")
		}
		if print {
			return out.Print(s.effective(), valuesTable(s.effective()))
		}
		return out.Print(checked{file, true, append([]string{}, warnings...)}, cli.Answer{
			Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error {
				if file == "" {
					file = "no file: flags, environment and defaults"
				}
				_, err := fmt.Fprintf(w, "%s: good\n", file)
				return err
			}})
	}
	return c
}

// checked is a configuration without an error in it.
type checked struct {
	File     string   `json:"file"` // "" for none
	Good     bool     `json:"good"`
	Warnings []string `json:"warnings"`
}

// warnings say what in a configuration that can be run with is probably not meant so.
func (s *settings) warnings() []string {
	var list []string
	known := []string{"CONTEXTD_CONFIG"}
	secrets := s.secretFiles()
	for _, row := range Table() {
		if row.Section() {
			continue
		}
		known = append(known, row.Env())
	}
	for _, setting := range slices.Sorted(maps.Keys(secrets)) {
		file := secrets[setting]
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 {
			list = append(list, fmt.Sprintf("%s: everybody can read %s (mode %04o); chmod o= it", setting, file, info.Mode().Perm()))
		}
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, "CONTEXTD_")
		if near := Nearest(strings.ToLower(rest)); ours && value != "" && near != "" && !slices.Contains(known, name) {
			list = append(list, fmt.Sprintf("%s is in the environment and sets nothing; did you mean %s?", name, Setting{Key: near}.Env()))
		}
	}
	return list
}

// secretFiles are the files with secrets that the configuration names, by the setting that names them, after read.
func (s *settings) secretFiles() map[string]string {
	files := map[string]string{}
	for _, row := range Table() {
		if file := s.v.GetString(row.Key); row.Credential() != "" && row.Key != certFile && file != "" {
			files[row.Key] = file
		}
	}
	for _, a := range s.alerts {
		for name, file := range map[string]string{"url_file": a.URLFile, "secret_file": a.SecretFile} {
			if file != "" {
				files["alerts "+a.Name+": "+name] = file
			}
		}
	}
	for _, r := range s.rails {
		for name, file := range map[string]string{"rpc_url_file": r.RPCURLFile, "settle.key_file": r.Settle.KeyFile} {
			if file != "" {
				files["rails "+r.ID+": "+name] = file
			}
		}
	}
	return files
}

// Settings that name files which are read again when they change. The first is the one that is no secret.
const (
	certFile    = "tls.cert_file"
	certKeyFile = "tls.key_file"
)
