package main

import (
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
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// packSettings are those of packs.
type packSettings struct {
	Enabled      []string `mapstructure:"enabled"`
	Dir          string   `mapstructure:"dir"`
	PrivateHosts []string `mapstructure:"private_hosts"`
}

// load makes the packs that are served: crypto, and those that are enabled.
func (p packSettings) load() ([]daemon.Pack, error) {
	list := []daemon.Pack{{Pack: pack.Crypto()}}
	for _, id := range p.Enabled {
		if id == api.PackCrypto || slices.ContainsFunc(list, func(p daemon.Pack) bool { return p.ID == id }) {
			continue
		}
		made, err := p.open(id)
		if err != nil {
			return nil, cli.Invalid("%w", err)
		}
		list = append(list, made)
	}
	return list, nil
}

// open makes the pack of an id: one that is part of the program, or of a manifest in the directory of packs. Those of others are evaluated
// in a child process.
func (p packSettings) open(id string) (daemon.Pack, error) {
	text, file, err := p.text(id)
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
	m.KeysIn(p.Dir)
	evaluator, err := evaluatorOf(m, text, file)
	if err != nil {
		return daemon.Pack{}, err
	}
	made := daemon.Pack{}
	if child, is := evaluator.(*manifest.Child); is {
		made.Close = child.Close
	}
	made.Pack, made.Writer, err = m.Make(evaluator)
	return made, err
}

// evaluatorOf runs a manifest: here if it is part of the program, else in a process of its own.
func evaluatorOf(m *manifest.Manifest, text []byte, file string) (manifest.Evaluator, error) {
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
	return manifest.NewChild(text, program, "pack", "eval"), nil
}

// text is the manifest of an id and the file that it is in, "" where it is part of the program.
func (p packSettings) text(id string) (text []byte, file string, err error) {
	if text, ok := manifest.ShippedText(id); ok {
		return text, "", nil
	}
	file = filepath.Join(p.Dir, id+".yaml")
	if id != filepath.Base(id) {
		return nil, "", fmt.Errorf("%q is no name of a pack", id)
	}
	err = fs.ErrNotExist
	if p.Dir != "" { // as a demo's, which takes no files of the directory that it happens to be started in
		text, err = os.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		known := p.known()
		if near := human.Nearest(id, known); near != "" {
			return nil, "", fmt.Errorf("there is no pack %q; did you mean %s?", id, near)
		}
		return nil, "", fmt.Errorf("there is no pack %q: there are %s, and no %s", id, strings.Join(known, ", "), file)
	}
	return text, file, err
}

// known are the packs that can be enabled.
func (p packSettings) known() []string {
	ids := manifest.Shipped()
	files, _ := filepath.Glob(filepath.Join(p.Dir, "*.yaml")) // it fails for a pattern alone
	for _, file := range files {
		ids = append(ids, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return ids
}
