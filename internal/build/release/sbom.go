package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// builtFrom is what a program says it was built from.
type builtFrom struct {
	*buildinfo.BuildInfo
	sha256 [sha256.Size]byte // of its file
}

// readBuild reads what the Go tool wrote into file.
func readBuild(file string) (builtFrom, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return builtFrom{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(text))
	if err != nil {
		return builtFrom{}, fmt.Errorf("read what is in %s: %w", filepath.Base(file), err)
	}
	return builtFrom{info, sha256.Sum256(text)}, nil
}

// cgo reports whether there is C in the program.
func (b builtFrom) cgo() bool {
	return slices.ContainsFunc(b.Settings, func(s debug.BuildSetting) bool { return s.Key == "CGO_ENABLED" && s.Value == "1" })
}

// part is something that a program holds.
type part struct {
	name, version string
	purl          string // its package URL
	dir           string // where its source and licences are; empty where they are no part of the module cache
}

// parts are the modules in b, Go's library and what there is in C, by name.
func (r *release) parts(ctx context.Context, b builtFrom) ([]part, error) {
	goroot, err := r.command(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(b.GoVersion, "go")
	all := []part{{name: "std", version: version, purl: purlOf("golang", "std", version), dir: strings.TrimSpace(goroot)}}
	dirs, err := r.moduleDirs(ctx, b.Deps)
	if err != nil {
		return nil, err
	}
	for _, m := range b.Deps {
		dir := dirs[m.Path]
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, part{m.Path, m.Version, purlOf("golang", m.Path, m.Version), dir})
	}
	if b.cgo() {
		inC, err := r.partsInC(ctx, all)
		if err != nil {
			return nil, err
		}
		all = append(all, inC...)
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// moduleDirs are the directories of modules by path.
func (r *release) moduleDirs(ctx context.Context, modules []*debug.Module) (map[string]string, error) {
	dirs := map[string]string{}
	if len(modules) == 0 {
		return dirs, nil
	}
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	list, err := r.command(ctx, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[name] = dir
	}
	return dirs, nil
}

// partsInC are SQLite and the library of C, which are found by what their headers say.
func (r *release) partsInC(ctx context.Context, all []part) ([]part, error) {
	i := slices.IndexFunc(all, func(p part) bool { return p.name == "github.com/mattn/go-sqlite3" })
	if i < 0 {
		return nil, fmt.Errorf("a program with C has no go-sqlite3")
	}
	header, err := os.ReadFile(filepath.Join(all[i].dir, "sqlite3-binding.h"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`#define SQLITE_VERSION\s+"([0-9.]+)"`).FindSubmatch(header)
	if found == nil {
		return nil, fmt.Errorf("go-sqlite3 does not say which SQLite it holds")
	}
	libc, err := r.command(ctx, nil, "sh", "-c", `printf '#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n' | ${CC:-gcc} -E -P -`)
	if err != nil {
		return nil, err
	}
	version := string(found[1])
	return []part{{name: "sqlite", version: version, purl: purlOf("generic", "sqlite", version)}, libcPart(libc)}, nil
}

// libcPart is the library of C by what the preprocessor made of the names of its version. musl has none.
func libcPart(preprocessed string) part {
	lines := strings.Split(strings.TrimSpace(preprocessed), "\n")
	version := strings.ReplaceAll(lines[len(lines)-1], " ", "")
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(version) {
		return part{name: "musl", purl: purlOf("generic", "musl", "")}
	}
	return part{name: "glibc", version: version, purl: purlOf("generic", "glibc", version)}
}

// purlOf is a package URL. Names are in lower case where the scheme wants them so, and + is escaped, as it stands for a space elsewhere.
func purlOf(scheme, name, version string) string {
	url := "pkg:" + scheme + "/" + strings.ToLower(name)
	if version != "" {
		url += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return url
}

// component is one entry of a CycloneDX document.
type component struct {
	Ref     string `json:"bom-ref"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
	PURL    string `json:"purl"`
}

// hash is the checksum of a component, in hexadecimal.
type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// document is a CycloneDX document.
type document struct {
	Schema     string      `json:"$schema"`
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

// metadata says what a document is about.
type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// sbom is the CycloneDX document of the program t, which is b and holds parts.
func (r *release) sbom(t target, b builtFrom, parts []part) ([]byte, error) {
	url := purlOf("golang", b.Main.Path, r.version) + "#cmd/" + t.program
	doc := document{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial: uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(url), b.sha256[:]...)).URN(),
		Metadata: metadata{r.date.Format(time.RFC3339), component{
			Ref: url, Type: "application", Name: t.program, Version: r.version, PURL: url,
			Hashes: []hash{{"SHA-256", hex.EncodeToString(b.sha256[:])}},
		}},
	}
	for _, p := range parts {
		doc.Components = append(doc.Components, component{Ref: p.purl, Type: "library", Name: p.name, Version: p.version, PURL: p.purl})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
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

// quote is text as notices has it.
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
