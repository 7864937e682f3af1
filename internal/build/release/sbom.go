package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// part is something that a program holds.
type part struct {
	name, version string
	dir           string // of its source and licences; empty for what is C
}

// purl is p as a package URL. The scheme wants names in lower case, and + is escaped, as it stands for a space elsewhere.
func (p part) purl() string {
	kind := "golang"
	if p.dir == "" {
		kind = "generic"
	}
	url := "pkg:" + kind + "/" + strings.ToLower(p.name)
	if p.version != "" {
		url += "@" + strings.ReplaceAll(p.version, "+", "%2B")
	}
	return url
}

// parts are Go's library, the modules of a program and what there is in C, by name.
func (r *release) parts(ctx context.Context, info *buildinfo.BuildInfo) ([]part, error) {
	goroot, err := r.command(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-m", "-f", "{{.Dir}}"}
	for _, m := range info.Deps {
		args = append(args, m.Path)
	}
	list, err := r.command(ctx, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	dirs := strings.Split(list, "\n") // one for each module
	all := []part{{"std", strings.TrimPrefix(info.GoVersion, "go"), strings.TrimSpace(goroot)}}
	for i, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, part{m.Path, m.Version, dirs[i]})
	}
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}) {
		arch := runtime.GOARCH
		if i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "GOARCH" }); i >= 0 {
			arch = info.Settings[i].Value
		}
		inC, err := r.partsInC(ctx, all, arch)
		if err != nil {
			return nil, err
		}
		all = append(all, inC...)
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// partsInC are SQLite and the library of C, which are found by what their headers say.
func (r *release) partsInC(ctx context.Context, all []part, arch string) ([]part, error) {
	i := slices.IndexFunc(all, func(p part) bool { return p.name == "github.com/mattn/go-sqlite3" })
	if i < 0 {
		return nil, errors.New("a program with C has no go-sqlite3")
	}
	header, err := os.ReadFile(filepath.Join(all[i].dir, "sqlite3-binding.h"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`#define SQLITE_VERSION\s+"([0-9.]+)"`).FindSubmatch(header)
	if found == nil {
		return nil, errors.New("go-sqlite3 does not say which SQLite it holds")
	}
	libc, err := r.command(ctx, compilerFor(arch), "sh", "-c", `printf '#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n' | ${CC:-gcc} -E -P -`)
	return []part{{name: "sqlite", version: string(found[1])}, libcPart(libc)}, err
}

// libcPart is the library of C by what the preprocessor made of the names of its version. musl has none.
func libcPart(preprocessed string) part {
	lines := strings.Split(strings.TrimSpace(preprocessed), "\n")
	version := strings.ReplaceAll(lines[len(lines)-1], " ", "")
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(version) {
		return part{name: "musl"}
	}
	return part{name: "glibc", version: version}
}

// sbom is the CycloneDX document of the program t, which is the file binary and holds parts.
func (r *release) sbom(t target, binary string, parts []part) ([]byte, error) {
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	url := part{name: module, version: r.version, dir: r.root}.purl() + "#cmd/" + t.program
	doc := cyclonedx.NewBOM()
	doc.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(url), sum[:]...)).URN()
	doc.Metadata = &cyclonedx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeApplication, Name: t.program, Version: r.version, PackageURL: url,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}}
	var components []cyclonedx.Component
	for _, p := range parts {
		under, err := p.licences()
		if err != nil {
			return nil, err
		}
		components = append(components, cyclonedx.Component{
			BOMRef: p.purl(), Type: cyclonedx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: p.purl(),
			Licenses: &under,
		})
	}
	doc.Components = &components
	var b bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(doc, cyclonedx.SpecVersion1_6)
	return b.Bytes(), err
}

// licences are those of p by their names in SPDX. What is of a library of C is as licenceInC says.
func (p part) licences() (list cyclonedx.Licenses, err error) {
	ids := map[string][]string{"sqlite": {"blessing"}, "musl": {"MIT"}, "glibc": {"LGPL-2.1-or-later"}}[p.name]
	if p.dir != "" {
		text, err := licence(os.DirFS(p.dir))
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.name, p.version, err)
		}
		if ids = spdx(text); len(ids) == 0 && p.name == "github.com/mattn/go-localereader" {
			ids = []string{"MIT"} // as its README says, which is all that it has
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s %s is under a licence that is not known here", p.name, p.version)
		}
	}
	for _, id := range ids {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return list, nil
}

// spdx are the licences whose texts are in text, by their names in SPDX.
func spdx(text string) (ids []string) {
	text = strings.Join(strings.Fields(regexp.MustCompile(`(?m)^\s*(//|#|\*)+`).ReplaceAllString(text, "")), " ")
	for _, l := range []struct{ id, says, unless string }{
		{"Apache-2.0", `Apache License,? Version 2\.0`, ``},
		{"MIT", `Permission is hereby granted, free of charge|#+ Licen[cs]e (The )?MIT|MIT [Ll]icense`, ``},
		{"ISC", `Permission to use, copy, modify, and(/or)? distribute this software`, ``},
		{"BSD-3-Clause", `(?i)redistribution and use in source and binary forms.*endorse or promote`, ``},
		{"BSD-2-Clause", `(?i)redistribution and use in source and binary forms`, `(?i)endorse or promote`},
		{"LGPL-3.0-or-later", `GNU LESSER GENERAL PUBLIC LICENSE Version 3`, ``},
		{"GPL-3.0-or-later", `GNU GENERAL PUBLIC LICENSE Version 3`, ``},
		{"MPL-2.0", `Mozilla Public License,? [Vv]ersion 2\.0`, ``},
		{"Unlicense", `This is free and unencumbered software`, ``},
		{"CC0-1.0", `CC0 1\.0 Universal`, ``},
	} {
		if regexp.MustCompile(l.says).MatchString(text) && (l.unless == "" || !regexp.MustCompile(l.unless).MatchString(text)) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// notices is the text of the licences of parts. It fails for a module that has none, because that must not be shipped.
func notices(program string, parts []part) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s holds the following, each under its own licence.\n", program)
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s %s\n", strings.Repeat("=", 100), p.name, p.version)
		if p.dir == "" {
			fmt.Fprintf(&b, "\n%s\n", licenceInC(p.name))
			continue
		}
		text, err := licence(os.DirFS(p.dir))
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.name, p.version, err)
		}
		b.WriteString(text)
	}
	return b.Bytes(), nil
}

// licence is the text of the files at the top of a module that say how it may be used. Where there are none, it is what the first
// source file with a licence begins with, or what README says of it.
func licence(module fs.FS) (string, error) {
	entries, err := fs.ReadDir(module, ".")
	if err != nil {
		return "", err
	}
	var files, comment, readme string
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := fs.ReadFile(module, e.Name())
		if err != nil {
			return "", err
		}
		switch {
		case regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)`).MatchString(e.Name()):
			files += quote(e.Name(), text)
		case path.Ext(e.Name()) == ".go":
			before, _, _ := bytes.Cut(append([]byte("\n"), text...), []byte("\npackage "))
			if regexp.MustCompile(`(?is)copyright.*licen[cs]e|licen[cs]e.*copyright`).Match(before) {
				comment = cmp.Or(comment, quote(e.Name()+" begins", before))
			}
		case strings.HasPrefix(e.Name(), "README"):
			if said := regexp.MustCompile(`(?ims)^#+ *licen[cs]e *$.*`).Find(text); said != nil {
				readme = quote(e.Name()+" says", said)
			}
		}
	}
	if text := cmp.Or(files, comment, readme); text != "" {
		return text, nil
	}
	return "", errors.New("no licence")
}

func quote(from string, text []byte) string {
	return fmt.Sprintf("\n--- %s\n\n%s\n", from, bytes.TrimSpace(text))
}

// licenceInC says under what the parts in C come.
func licenceInC(name string) string {
	switch name {
	case "sqlite":
		return "SQLite is in the public domain."
	case "musl":
		return "musl comes under the MIT licence; https://git.musl-libc.org/cgit/musl/tree/COPYRIGHT names its authors."
	}
	return "The GNU C Library comes under the LGPL 2.1 or later; https://www.gnu.org/software/libc/ has its source. The source of this\n" +
		"program and the command that links it are public, so that it can be linked with another version of the library."
}
