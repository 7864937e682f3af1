package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/setting"
)

// newPack makes the commands by which packs of manifests are written, tried and served.
func newPack(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "packs", Short: "Write, try and serve packs of your own sources",
		Long: "Write, try and serve packs of your own sources. A pack is a manifest: YAML that lists sources and maps their\n" +
			"answers to rows with jq. Its file is NAME.yaml in packs.dir, by default beside the configuration file.",
		Example: "  contextd packs init my-coins --url https://api.example.org/coins\n  contextd packs try my-coins\n" +
			"  contextd packs enable my-coins",
	}
	return cli.Group(c, newPackInit(s), newPackLint(s), newPackTry(s), newPackRecord(s), newPackTest(s), newPackList(s), newPackView(s),
		newPackDiff(s), newPackEnable(s, true), newPackEnable(s, false), newBrief(s), newPackEval())
}

// newPackEval makes the command that the daemon calls for every manifest of somebody else.
func newPackEval() *cobra.Command {
	return &cobra.Command{
		Use: "eval", Short: "Evaluate a manifest for the daemon that started it", Args: cobra.NoArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return manifest.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
}

// packText is a manifest that a command is about.
type packText struct {
	text []byte
	file string // "" for one that is part of the program
	name string // what it was called
	dir  string // of packs
}

// manifestOf finds the manifest that an argument means: a file, or a pack by its name.
func (s *settings) manifestOf(arg string) (packText, *config.Config, error) {
	cfg, err := s.Load()
	if err != nil {
		return packText{}, cfg, err
	}
	p := packText{name: arg, dir: cfg.Packs.Directory()}
	if isFile(arg) {
		p.file = arg
		if p.text, err = os.ReadFile(arg); err != nil {
			return p, cfg, cli.Invalid("read manifest: %w", err)
		}
		return p, cfg, nil
	}
	if p.text, p.file, err = cfg.Packs.Text(arg); err != nil {
		return p, cfg, cli.Invalid("%w", err).WithHint("contextd packs list, or contextd packs init %s", cli.Quoted(arg))
	}
	return p, cfg, nil
}

// isFile reports whether an argument is the name of a file and not of a pack.
func isFile(arg string) bool {
	return strings.ContainsRune(arg, filepath.Separator) || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// where is what people call p.
func (p packText) where() string {
	if p.file == "" {
		return p.name + " (part of the program)"
	}
	return p.file
}

func (p packText) recording() string {
	return strings.TrimSuffix(p.file, filepath.Ext(p.file)) + ".test"
}

func (p packText) mistakes() []setting.Mistake {
	m, err := manifest.Read(p.text, p.file == "")
	if err != nil {
		return setting.Mistakes(err)
	}
	if name := filepath.Base(p.file); p.file != "" && filepath.Dir(p.file) == filepath.Clean(p.dir) && name != m.Pack+".yaml" {
		return []setting.Mistake{{Line: 1, Text: fmt.Sprintf("the file is called %s, and must be %s.yaml", name, m.Pack)}}
	}
	return nil
}

// warnings say what is served otherwise than p says, nothing where it has mistakes.
func (p packText) warnings() []string {
	m, err := manifest.Read(p.text, p.file == "")
	if err != nil {
		return []string{}
	}
	return append([]string{}, m.Warnings()...)
}

// read reads p for a command that needs it to be right.
func (p packText) read() (*manifest.Manifest, manifest.Evaluator, error) {
	if wrong := p.mistakes(); len(wrong) > 0 {
		var errs []error
		for _, m := range wrong {
			errs = append(errs, errors.New(lineOf(m)))
		}
		return nil, nil, cli.Invalid("%s:\n%w", p.where(), errors.Join(errs...)).WithHint("contextd help packs")
	}
	m, err := manifest.Read(p.text, p.file == "")
	if err != nil {
		return nil, nil, err
	}
	m.KeysIn(filepath.Dir(p.file))
	e, err := config.Evaluator(m, p.text, p.file)
	return m, e, err
}

func endEvaluator(e manifest.Evaluator) {
	if child, is := e.(*manifest.Child); is {
		child.Close()
	}
}

func lineOf(m setting.Mistake) string {
	if m.Line == 0 {
		return m.Text
	}
	return fmt.Sprintf("line %d: %s", m.Line, m.Text)
}

// completePacks completes the names of packs, and files.
func (s *settings) completePacks(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	cfg, err := s.Load()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cfg.Packs.Known(), cobra.ShellCompDirectiveDefault
}

// completeSources completes the ids of the sources of the pack that is named before.
func (s *settings) completeSources(_ *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		if p, _, err := s.manifestOf(args[0]); err == nil {
			if m, err := manifest.Read(p.text, p.file == ""); err == nil {
				for _, source := range m.Sources {
					ids = append(ids, source.ID)
				}
			}
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the names of packs alone.
func (s *settings) completeNames(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names, _ := s.completePacks(c, args, word)
	return names, cobra.ShellCompDirectiveNoFileComp
}
