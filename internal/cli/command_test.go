package cli_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// row is what the program of these tests lists.
type row struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

// called runs a program with args and returns its exit code and what it wrote.
func called(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	code, stderr = calledTo(t, &out, args...)
	return code, out.String(), stderr
}

// calledTo is called with what takes the output.
func calledTo(t *testing.T, out io.Writer, args ...string) (code int, stderr string) {
	t.Helper()
	var errOut bytes.Buffer
	s := cli.System{Out: out, Err: &errOut}
	set := &cobra.Command{Use: "set NAME VALUE [REASON]", Args: cobra.RangeArgs(2, 3), RunE: func(*cobra.Command, []string) error {
		return errors.New("it failed")
	}}
	set.Flags().Int("count", 0, "how many")
	set.Flags().Bool("one", false, "")
	set.Flags().Bool("other", false, "")
	set.MarkFlagsMutuallyExclusive("one", "other")
	list := &cobra.Command{Use: "list"}
	answer := cli.AddOutput(list, cli.FieldsIn([]row{})...)
	list.RunE = func(*cobra.Command, []string) error {
		return answer.Print([]row{{"a", ""}, {"b", "x"}}, cli.Answer{Rows: &cli.Rows{Columns: []string{"name"}, Rows: [][]string{{"a"}, {"b"}}}})
	}
	root := &cobra.Command{Use: "prog"}
	things := cli.Group(&cobra.Command{Use: "things", Short: "Look after things"}, set, list)
	cli.Assemble(root, s, []cli.Section{{Title: "Run", Commands: []*cobra.Command{things}},
		{Title: "About", Commands: []*cobra.Command{cli.NewCompletion("prog")}}})
	root.SetArgs(args)
	f := cli.ToFailure(root.ExecuteContext(t.Context()), func(error) *cli.Failure { return nil })
	code = f.Report(&errOut, s.Style(false), cli.AsksJSON(args))
	return code, errOut.String()
}

// failing takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestHelpToHead: help whose reader has seen enough ends without a word; what else happens to it is told.
func TestHelpToHead(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "things --help", "help exit-codes", "--version", "things list"} {
		if code, stderr := calledTo(t, failing{&fs.PathError{Op: "write", Err: syscall.EPIPE}}, strings.Fields(args)...); code != 0 || stderr != "" {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
	if _, stderr := calledTo(t, failing{&fs.PathError{Op: "write", Err: syscall.ENOSPC}}, "--help"); !strings.Contains(stderr, "no space") {
		t.Errorf("a full disk is told as %q", stderr)
	}
}

// TestMisuse checks that wrong calls are told in our words and end with 3.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"things set":                       "✗ NAME is missing\n  usage: prog things set NAME VALUE [REASON] [options]\n  try: prog things set --help\n",
		"things set a":                     "✗ VALUE is missing\n",
		"things set a b c d":               "✗ \"d\" is one argument too many\n",
		"things set a b --one --other":     "✗ --one and --other exclude each other\n",
		"things set a b --count many":      "✗ --count has \"many\", which is not a whole number\n",
		"things set a b --count":           "✗ --count needs a value\n",
		"things set a b --cou 1":           "✗ there is no option --cou\n  usage: prog things set NAME VALUE [REASON] [options]\n  try: --count, or",
		"things set a b -z":                "✗ there is no option -z\n",
		"things lst":                       "✗ there is no command \"lst\" in prog things\n",
		"thing":                            "✗ there is no command \"thing\" in prog\n",
		"completion tcsh":                  "✗ \"tcsh\" is none of bash, zsh, fish, powershell\n",
		"things list x":                    "✗ \"x\" is one argument too many\n",
		"things list --json":               "✗ name one or more fields after --json, with commas between:\n  name\n  note\n",
		"things list --json -q .":          "✗ name one or more fields",
		"things list -o xml":               "✗ output \"xml\" is none of table, json",
		"things list --json nam --jq .":    "{\"error\":{\"code\":\"VALIDATION_ERROR\",\"reason\":\"usage\",\"message\":\"no field \\\"nam\\\"",
		"things list --jq . --template {}": "✗ --jq and --template exclude each other\n  try: prog help formatting\n",
	} {
		code, stdout, stderr := called(t, strings.Fields(args)...)
		if code != cli.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %s", args, code, stdout, stderr, want)
		}
	}
	if code, _, stderr := called(t, "things", "set", "a", "b"); code != cli.ExitFailure || stderr != "✗ it failed\n" {
		t.Errorf("a failure: exit %d %s", code, stderr)
	}
}

// TestProgram checks the help in groups, the version, and a list in the formats: a field that an element leaves out is null.
func TestProgram(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--help":                       "\nRun\n  things      Look after things\n\nAbout\n  completion ",
		"--version":                    "prog dev",
		"help exit-codes":              "  130  Ctrl-C",
		"things list":                  "a\nb\n",
		"things list --header":         "name\na\nb\n",
		"things list -o json":          `[{"name":"a"},{"name":"b","note":"x"}]` + "\n",
		"things list --json note,name": `[{"note":null,"name":"a"},{"note":"x","name":"b"}]` + "\n",
		"things list --jq .[].name":    "a\nb\n",
		"things list -t {{range.}}{{.name}}{{end}}": "ab",
		"things list -o table":                      "NAME\na\nb\n",
		"completion bash":                           "# bash completion V2 for prog",
	} {
		code, stdout, stderr := called(t, strings.Fields(args)...)
		if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %s", args, code, stdout, stderr, want)
		}
	}
}
