package client

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// anyNumber is how many arguments a command takes that takes any number.
const anyNumber = -1

// ownWords is the annotation of a command with the words that name something else than a pack.
const ownWords = "own-words"

// packForm matches names that a pack may have.
var packForm = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)

// Packed has a command, whose run is set, take its pack as its first argument and behind --pack alike. Run finds the name in *pack, "" for
// that of the profile, and in its arguments what is left: at least and at most so many.
func (f *factory) Packed(c *cobra.Command, pack *string, usage string, least, most int) *cobra.Command {
	c.Flags().StringVar(pack, "pack", "", usage)
	_ = c.RegisterFlagCompletionFunc("pack", f.CompletePack()) // it fails for a flag that is not there
	name, rest, _ := strings.Cut(c.Use, " ")
	c.Use = strings.TrimRight(name+" [PACK] "+rest, " ")
	if c.Args = cobra.RangeArgs(least, most+1); most == anyNumber {
		c.Args = cobra.MinimumNArgs(least)
	}
	if most == 0 {
		c.ValidArgsFunction = f.CompletePackArgument()
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.Check(c); err != nil {
			return err
		}
		switch named := f.namesPack(c, args, least, most); {
		case named && *pack != "" && most != anyNumber && len(args) > most:
			if args[0] != *pack {
				return cli.Invalid("the pack is %s, and --pack names %s", args[0], *pack)
			}
			args = args[1:]
		case named && *pack == "":
			if err := c.Flags().Set("pack", args[0]); err != nil {
				return err
			}
			if err := cli.CheckGroups(c); err != nil {
				return err
			}
			args = args[1:]
		}
		return run(c, args)
	}
	return c
}

// namesPack reports whether the first argument is a pack: the one too many is, and where it may be one of the command's own, what the
// service has as a pack. A file of that name goes before it.
func (f *factory) namesPack(c *cobra.Command, args []string, least, most int) bool {
	switch {
	case len(args) <= least && most != 0 || len(args) == 0:
		return false
	case most != anyNumber && len(args) > most:
		return true
	case args[0] == api.PackAll:
		return true
	case !packForm.MatchString(args[0]) || slices.Contains(strings.Fields(c.Annotations[ownWords]), args[0]):
		return false
	}
	if _, err := os.Lstat(args[0]); err == nil && strings.Contains(c.Use, "FILE") {
		return false
	}
	return f.Packs.Find(c.Context(), args[0]) != nil
}

// packUI shows the UI of the pack that is the only word of the command line. ok is false where it is none.
func (f *factory) packUI(ctx context.Context, words []string) (ok bool, err error) {
	if len(words) != 1 || !packForm.MatchString(words[0]) || f.Packs.Find(ctx, words[0]) == nil {
		return false, nil
	}
	if !drawable(f.streams) {
		return true, cli.Invalid("%s is a pack, and its UI needs a terminal that can be drawn on", words[0]).
			WithHint("ctx state %s", words[0])
	}
	o := &uiOptions{factory: f, theme: themeAuto}
	return true, o.run(ctx, words)
}
