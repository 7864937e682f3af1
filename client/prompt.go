package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type promptOptions struct {
	*streams
	account *account
	packOf  func(args []string) (string, error)

	pack string // "" for that of the profile
	file string // with the prompt, - for standard input
}

// newPrompt makes the group of commands on what an owner wants in their briefs. It goes below the command brief.
func newPrompt(f *factory) *cobra.Command {
	o := &promptOptions{streams: f.streams, account: f.Account, packOf: f.Pack}
	fields := []string{"pack", "prompt"}
	get := f.Command(&cobra.Command{Use: "get", Short: "Show your prompt",
		Example: "  ctx brief prompt get\n  ctx brief prompt get -q .prompt"}, fields, o.get)
	set := f.Command(&cobra.Command{Use: "set [TEXT]", Short: "Set your prompt",
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: fmt.Sprintf("Set your prompt: the content and style of your briefs of a pack, in at most %d characters. It applies\n"+
			"from the next brief that you request with one of your keys.", api.MaxPrompt),
		Example: "  ctx brief prompt set \"Only stablecoins, in three sentences.\"\n  ctx brief prompt set --file prompt.txt"},
		fields, o.set)
	set.Flags().StringVar(&o.file, "file", "", "read the prompt from this `file`, - for stdin")
	unset := f.Command(&cobra.Command{Use: "unset", Short: "Drop your prompt and get the brief of the pack again"}, fields, o.unset)
	for _, c := range []*cobra.Command{get, set, unset} {
		f.Packed(c, &o.pack, "use this `pack` (default: that of the profile)", 0, map[bool]int{true: 1}[c == set])
	}
	return cli.Group(&cobra.Command{Use: "prompt", Short: "Set the prompt for your briefs",
		Long: "Set instructions for your briefs of a pack. The service writes such a brief on request, once per state; if it\n" +
			"cannot, you get the brief of the pack and a warning. This needs tier " + string(api.TierPro) + " or above, and a\n" +
			"session (ctx login).",
		Example: "  ctx brief prompt set \"Only stablecoins, in three sentences.\"\n  ctx brief prompt get\n  ctx brief prompt unset"},
		get, set, unset)
}

func (o *promptOptions) get(ctx context.Context, _ []string) error {
	return o.call(ctx, func(c *sdk.Console, pack string, opts []sdk.CallOption) (string, error) {
		return c.Prompt(ctx, pack, opts...)
	})
}

func (o *promptOptions) set(ctx context.Context, args []string) error {
	text, err := o.text(args)
	if err != nil {
		return err
	}
	return o.call(ctx, func(c *sdk.Console, pack string, opts []sdk.CallOption) (string, error) {
		return c.SetPrompt(ctx, pack, text, opts...)
	})
}

func (o *promptOptions) unset(ctx context.Context, _ []string) error {
	return o.call(ctx, func(c *sdk.Console, pack string, opts []sdk.CallOption) (string, error) {
		return "", c.DropPrompt(ctx, pack, opts...)
	})
}

func (o *promptOptions) text(args []string) (string, error) {
	if (len(args) > 0) == (o.file != "") {
		return "", cli.Invalid("give the prompt as one argument, or with --file").WithHint(`ctx brief prompt set "Only stablecoins."`)
	}
	if o.file == "" {
		return args[0], nil
	}
	in := o.In
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return "", cli.Invalid("--file: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, api.MaxBodyBytes)) // what is longer the service refuses
	if err != nil {
		return "", fmt.Errorf("read --file: %w", err)
	}
	return string(text), nil
}

// call makes a call about the prompt of a pack and shows the prompt that comes back.
func (o *promptOptions) call(ctx context.Context, ask func(c *sdk.Console, pack string, opts []sdk.CallOption) (string, error)) error {
	pack, err := o.packOf([]string{o.pack})
	if err != nil {
		return err
	}
	prompt, err := askConsole(o.account, func(c *sdk.Console, opts []sdk.CallOption) (string, error) { return ask(c, pack, opts) })
	if err != nil {
		return err
	}
	doc, err := cli.Marshal(struct {
		Pack   string `json:"pack"`
		Prompt string `json:"prompt"`
	}{pack, prompt})
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.Text, Text: func(w io.Writer, _ int, _ cli.Style) error {
		if prompt == "" {
			o.Note("you have no prompt for %s; your briefs are those of the pack", pack)
			return nil
		}
		if o.OutTTY {
			prompt = human.Text(prompt)
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(prompt, "\n"))
		return err
	}})
}
