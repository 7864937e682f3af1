package main

import (
	"archive/zip"
	"bytes"
	"debug/macho"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A manifest is that of a bundle of MCP (.mcpb), version 0.3, as far as ctx needs it. Hosts refuse members that they do not know.
type manifest struct {
	ManifestVersion string                `json:"manifest_version"`
	Name            string                `json:"name"`
	DisplayName     string                `json:"display_name"`
	Version         string                `json:"version"`
	Description     string                `json:"description"`
	LongDescription string                `json:"long_description"`
	Author          author                `json:"author"`
	Homepage        string                `json:"homepage"`
	Documentation   string                `json:"documentation"`
	Support         string                `json:"support"`
	License         string                `json:"license"`
	Keywords        []string              `json:"keywords"`
	Server          bundleServer          `json:"server"`
	ToolsGenerated  bool                  `json:"tools_generated"`
	UserConfig      map[string]userConfig `json:"user_config"`
	Compatibility   compatibility         `json:"compatibility"`
}

type author struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
}

type bundleServer struct {
	Type       string `json:"type"`
	EntryPoint string `json:"entry_point"`
	Config     start  `json:"mcp_config"`
}

// start is how an MCP client starts a server.
type start struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

type userConfig struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Default     string `json:"default,omitempty"`
	Required    bool   `json:"required"`
	Sensitive   bool   `json:"sensitive,omitempty"`
}

type compatibility struct {
	ClaudeDesktop string   `json:"claude_desktop"`
	Platforms     []string `json:"platforms"`
}

// member is a file of a bundle.
type member struct {
	name string
	text []byte
	mode fs.FileMode
}

// Bundles are one for each system: with all programs in it, one would take 50 MB. A manifest tells systems apart but not machines, so
// that the bundle for macOS has a program for both in one file, that for Linux a script that chooses, and that for Windows the program
// for amd64, which its arm64 runs too.

func (r *release) bundleDarwin() error {
	intel, err := r.built("darwin", "amd64")
	arm, armErr := r.built("darwin", "arm64")
	if err := errors.Join(err, armErr); err != nil {
		return err
	}
	universal, err := fat(intel, arm)
	if err != nil {
		return err
	}
	return r.bundle("darwin", "darwin", "server/ctx", member{"server/ctx", universal, 0o755})
}

func (r *release) bundleLinux() error {
	intel, err := r.built("linux", "amd64")
	arm, armErr := r.built("linux", "arm64")
	launch, launchErr := os.ReadFile(filepath.Join(r.root, files, "launch.sh"))
	if err := errors.Join(err, armErr, launchErr); err != nil {
		return err
	}
	return r.bundle("linux", "linux", "server/launch.sh", member{"server/ctx_amd64", intel, 0o755},
		member{"server/ctx_arm64", arm, 0o755}, member{"server/launch.sh", launch, 0o755})
}

func (r *release) bundleWindows() error {
	text, err := r.built("windows", "amd64")
	if err != nil {
		return err
	}
	return r.bundle("windows", "win32", "server/ctx.exe", member{"server/ctx.exe", text, 0o755})
}

// built is the ctx that was built for system and arch.
func (r *release) built(system, arch string) ([]byte, error) {
	t := target{"ctx", system, arch}
	return os.ReadFile(filepath.Join(r.work, "bin", system+"_"+arch, t.file()))
}

// bundle writes the bundle for system, which its manifest calls platform, of server.
func (r *release) bundle(system, platform, entry string, server ...member) error {
	text, err := json.MarshalIndent(r.manifest(platform, entry), "", "  ")
	if err != nil {
		return err
	}
	members := []member{{"manifest.json", append(text, '\n'), 0o644}}
	for _, name := range []string{"LICENSE", "NOTICES"} {
		text, err := os.ReadFile(filepath.Join(r.work, "stage", "ctx_"+system+"_amd64", name))
		if err != nil {
			return err
		}
		members = append(members, member{name, text, 0o644})
	}
	zipped, err := r.zip(append(members, server...))
	if err != nil {
		return err
	}
	return put(filepath.Join(r.out, fmt.Sprintf("ctx_%s_%s.mcpb", r.number(), system)), zipped, 0o644)
}

// manifest is that of a bundle for platform, whose server is the file entry. Settings that are left empty are those of ctx: a service
// on this machine, without a key or with the one that ctx keeps.
func (r *release) manifest(platform, entry string) manifest {
	file := "${__dirname}/" + entry
	run := start{Command: file, Args: []string{"mcp", "stdio"}, Env: map[string]string{
		"CTX_BASE_URL": "${user_config.url}", "CTX_API_KEY": "${user_config.key}", "CTX_PACK": "${user_config.pack}",
	}}
	if platform == "linux" { // as an argument, because hosts may drop execute bits
		run.Command, run.Args = "/bin/sh", append([]string{file}, run.Args...)
	}
	return manifest{
		ManifestVersion: "0.3", Name: "ctx", DisplayName: "contextd", Version: r.number(), Author: author{Name: "The authors of contextd"},
		Description: "Fresh, cited context for AI agents, from a context service",
		LongDescription: "Connects to a contextd service: the state of a market, its brief with a source for every statement, figures " +
			"by name with their age, and states of the past. Without settings it asks a service on this machine.",
		Homepage: repository, Documentation: repository + "#readme", Support: repository + "/issues", License: "Apache-2.0",
		Keywords: []string{"context", "markets", "crypto", "citations", "x402"},
		Server:   bundleServer{Type: "binary", EntryPoint: entry, Config: run}, ToolsGenerated: true,
		UserConfig: map[string]userConfig{
			"url": {Type: "string", Title: "Address of the service", Default: r.host,
				Description: "Such as https://context.example.org. Empty means a service on this machine."},
			"key": {Type: "string", Title: "API key", Sensitive: true,
				Description: "A key of that service. Empty means the one that ctx keeps, or none."},
			"pack": {Type: "string", Title: "Pack", Default: "crypto",
				Description: "The pack that questions are about when they name none."},
		},
		Compatibility: compatibility{ClaudeDesktop: ">=0.10.0", Platforms: []string{platform}},
	}
}

// zip is an archive of members with their modes, which programs need to start.
func (r *release) zip(members []member) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(m.mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(m.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

// fatAlign is where the programs in a universal file begin, as an exponent of 2: a page of macOS on arm64.
const fatAlign = 14

// fat is a universal program of macOS of programs for one kind of machine each.
func fat(programs ...[]byte) ([]byte, error) {
	var head bytes.Buffer
	write := func(values ...uint32) {
		_ = binary.Write(&head, binary.BigEndian, values) // a buffer takes all
	}
	round := func(n int) int { return (n + 1<<fatAlign - 1) &^ (1<<fatAlign - 1) }
	write(macho.MagicFat, uint32(len(programs)))
	at := 1 << fatAlign
	for _, text := range programs {
		f, err := macho.NewFile(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		write(uint32(f.Cpu), f.SubCpu, uint32(at), uint32(len(text)), fatAlign)
		at = round(at + len(text))
	}
	all := head.Bytes()
	for _, text := range programs {
		all = append(append(all, make([]byte, round(len(all))-len(all))...), text...)
	}
	return all, nil
}
