package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// installer writes install.sh, which installs ctx of this version from the archives beside it.
func (r *release) installer() error {
	text, err := os.ReadFile(filepath.Join(r.root, files, "install.sh"))
	if err != nil {
		return err
	}
	return put(filepath.Join(r.out, "install.sh"), bytes.Replace(text, []byte("@VERSION@"), []byte(r.number()), 1), 0o755)
}

// formula writes ctx.rb, by which Homebrew installs ctx from the archives. It is for a tap: Homebrew itself builds from source.
func (r *release) formula() error {
	text, err := os.ReadFile(filepath.Join(r.root, files, "ctx.rb"))
	if err != nil {
		return err
	}
	values := []string{"@VERSION@", r.number()}
	for _, system := range []string{"darwin", "linux"} {
		for _, arch := range []string{"amd64", "arm64"} {
			sum, err := fileSum(filepath.Join(r.out, r.archiveName(target{"ctx", system, arch})+".tar.gz"))
			if err != nil {
				return err
			}
			values = append(values, fmt.Sprintf("@%s_%s@", system, arch), sum)
		}
	}
	return put(filepath.Join(r.out, "ctx.rb"), []byte(strings.NewReplacer(values...).Replace(string(text))), 0o644)
}
