package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// TestFormerNames: a former name does what the one of now does, with its options, and says so on a terminal alone.
func TestFormerNames(t *testing.T) {
	t.Parallel()
	const note = "prog old is now prog things show --much\n"
	for _, c := range []struct {
		args   string
		tty    bool
		stdout string
		stderr string
		code   int
	}{
		{"old a", false, "a much=true loud=false\n", "", cli.ExitOK},
		{"old a --loud", true, "a much=true loud=true\n", note, cli.ExitOK},
		{"--loud old a", false, "a much=true loud=true\n", "", cli.ExitOK},
		{"old a --quiet", true, "a much=true loud=false\n", "", cli.ExitOK},
		{"old", false, "", "✗ NAME is missing\n  usage: prog things show NAME [options]\n  try: prog things show --help\n", cli.ExitUsage},
		{"older group show a", false, "a much=false loud=false\n", "", cli.ExitOK},
		{"older show a", true, "a much=false loud=false\n", "prog older is now prog things\n", cli.ExitOK},
		{"things was a", false, "a much=false loud=false\n", "", cli.ExitOK},
		{"__complete old ", false, "a name\n:4\n", "Completion ended", cli.ExitOK},
		{"__complete older show ", false, "a name\n:4\n", "Completion ended", cli.ExitOK},
		{"__complete older show --mu", false, "--much\n:4\n", "Completion ended", cli.ExitOK},
		{"__complete o", false, ":4\n", "Completion ended", cli.ExitOK},
		{"ol", false, "", "✗ there is no command \"ol\" in prog\n", cli.ExitUsage},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			s := cli.System{Out: &out, Err: &errOut, ErrTTY: c.tty}
			root := &cobra.Command{Use: "prog"}
			loud := root.PersistentFlags().Bool("loud", false, "")
			root.PersistentFlags().Bool("quiet", false, "")
			show := &cobra.Command{Use: "show NAME", Args: cobra.ExactArgs(1),
				ValidArgsFunction: cobra.FixedCompletions([]string{"a name"}, cobra.ShellCompDirectiveNoFileComp)}
			much := show.Flags().Bool("much", false, "")
			show.RunE = func(c *cobra.Command, args []string) error {
				_, err := c.OutOrStdout().Write([]byte(args[0] + map[bool]string{true: " much=true", false: " much=false"}[*much] +
					map[bool]string{true: " loud=true\n", false: " loud=false\n"}[*loud]))
				return err
			}
			things := cli.Group(&cobra.Command{Use: "things"}, show)
			cli.Assemble(root, s, []cli.Section{{Title: "Run", Commands: []*cobra.Command{things}}})
			former := map[string]string{"old": "things show --much", "things was": "things show", "older": "things"}
			if strings.HasPrefix(c.args, "older group") {
				former = map[string]string{"older group show": "things show"}
			}
			cli.AddFormer(root, s, former)
			args := strings.Split(c.args, " ")
			root.SetArgs(args)
			f := cli.ToFailure(root.ExecuteContext(t.Context()), func(error) *cli.Failure { return nil })
			code := f.Report(&errOut, s.Style(false), false)
			if code != c.code || out.String() != c.stdout || !strings.HasPrefix(errOut.String(), c.stderr) || c.stderr == "" && errOut.Len() > 0 {
				t.Errorf("exit %d\n%s%s", code, out.String(), errOut.String())
			}
			root.SetArgs([]string{"--help"})
			out.Reset()
			if err := root.ExecuteContext(t.Context()); err != nil || strings.Contains(out.String(), "\n  old") {
				t.Errorf("the help shows former names: %v\n%s", err, out.String())
			}
		})
	}
}
