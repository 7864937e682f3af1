package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Directory is where the manifests are; "" for none, as a demo's.
func (p Packs) Directory() string { return cmp.Or(p.Dir, p.beside) }

// Load makes the packs that are served under terms: crypto, as often as the account at CoinGecko allows, unless it is left out, and those
// that are enabled.
func (p Packs) Load(account source.CoinGecko, terms pack.Terms) (list []daemon.Pack, err error) {
	if !p.NoCrypto {
		list = append(list, daemon.Pack{Pack: pack.Crypto().Paced(account)})
	}
	for _, id := range p.Enabled {
		if id == api.PackCrypto || slices.ContainsFunc(list, func(p daemon.Pack) bool { return p.ID == id }) {
			continue
		}
		made, err := p.Open(id)
		if err != nil {
			return nil, cli.Invalid("%w", err)
		}
		list = append(list, made)
	}
	if len(list) == 0 {
		return nil, cli.Invalid("packs.no_crypto: no pack is left to serve").WithHint("enable one in packs.enabled")
	}
	for i := range list {
		list[i].Pack = list[i].Under(terms)
	}
	return list, nil
}

// move has sources of packs asked where the operator says.
func move(packs []daemon.Pack, list []source.Moved) (err error) {
	for _, m := range list {
		has := func(s pack.Source) bool { return s.ID == m.ID }
		i := slices.IndexFunc(packs, func(p daemon.Pack) bool { return slices.ContainsFunc(p.Sources, has) })
		if i < 0 {
			return cli.Invalid("sources.url: there is no source %q: no pack has it", m.ID)
		}
		if packs[i].Pack, err = packs[i].At(m); err != nil {
			return cli.Invalid("sources.url.%s: %w", m.ID, err)
		}
	}
	return nil
}

// Open makes the pack of an id: one that is part of the program, or of a manifest in the directory of packs. Those of others are evaluated
// in a child process.
func (p Packs) Open(id string) (daemon.Pack, error) {
	text, file, err := p.Text(id)
	if err != nil {
		return daemon.Pack{}, err
	}
	m, err := manifest.Read(text, file == "")
	if err != nil {
		return daemon.Pack{}, fmt.Errorf("%s:\n%w", file, err)
	}
	if m.Pack != id {
		return daemon.Pack{}, fmt.Errorf("%s is the manifest of %s; call the file %[2]s.yaml", file, m.Pack)
	}
	m.KeysIn(p.Directory())
	evaluator, err := Evaluator(m, text, file)
	if err != nil {
		return daemon.Pack{}, err
	}
	made := daemon.Pack{Warnings: m.Warnings()}
	if child, is := evaluator.(*manifest.Child); is {
		made.Close = child.Close
	}
	made.Pack, made.Writer, err = m.Make(evaluator)
	return made, err
}

// Evaluator runs a manifest: here if it is part of the program, else in a process of its own.
func Evaluator(m *manifest.Manifest, text []byte, file string) (manifest.Evaluator, error) {
	if file == "" {
		return manifest.NewLocal(m)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if runtime.GOOS == "linux" {
		program = "/proc/self/exe" // this one still when another version has been installed
	}
	return manifest.NewChild(text, program, "packs", "eval"), nil
}

// Text is the manifest of an id and the file that it is in, "" where it is part of the program. A file comes first: it can say where a
// source of the program has moved to.
func (p Packs) Text(id string) (text []byte, file string, err error) {
	file = filepath.Join(p.Directory(), id+".yaml")
	if id != filepath.Base(id) {
		return nil, "", fmt.Errorf("%q is no name of a pack", id)
	}
	err = fs.ErrNotExist
	if p.Directory() != "" { // as a demo's, which takes no files of the directory that it happens to be started in
		text, err = os.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if text, ok := manifest.ShippedText(id); ok {
			return text, "", nil
		}
		known := p.Known()
		if near := human.Nearest(id, known); near != "" {
			return nil, "", fmt.Errorf("there is no pack %q; did you mean %s?", id, near)
		}
		return nil, "", fmt.Errorf("there is no pack %q: there are %s, and no %s", id, strings.Join(known, ", "), file)
	}
	return text, file, err
}

// Known are the packs that can be enabled.
func (p Packs) Known() []string {
	ids := manifest.Shipped()
	files, _ := filepath.Glob(filepath.Join(p.Directory(), "*.yaml")) // it fails for a pattern alone
	for _, file := range files {
		if id := strings.TrimSuffix(filepath.Base(file), ".yaml"); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
