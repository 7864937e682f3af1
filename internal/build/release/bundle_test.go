package main

import (
	"archive/zip"
	"bytes"
	"debug/macho"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/skills"
)

// machO is a program of macOS that holds nothing but text.
func machO(cpu macho.Cpu, text string) []byte {
	var b bytes.Buffer
	header := macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, SubCpu: 3, Type: macho.TypeExec}
	_ = binary.Write(&b, binary.LittleEndian, header)
	_ = binary.Write(&b, binary.LittleEndian, uint32(0))
	b.WriteString(text)
	return b.Bytes()
}

// builtRelease is a release whose programs are scripts, for every system, in a directory of its own.
func builtRelease(t *testing.T) *release {
	t.Helper()
	out := t.TempDir()
	r := &release{root: "../../..", out: out, work: filepath.Join(out, workDir), log: io.Discard,
		commit: commit{version: "v1.2.3", hash: "0123456789abcdef", date: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)}}
	for _, target := range allTargets("linux", "amd64") {
		text := []byte("#!/bin/sh\necho " + target.String() + " \"$@\"\n")
		if target.os == "darwin" {
			text = machO(map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[target.arch], target.String())
		}
		stage := filepath.Join(r.work, "stage", target.program+"_"+target.os+"_"+target.arch)
		if err := errors.Join(put(filepath.Join(r.work, "bin", target.os+"_"+target.arch, target.file()), text, 0o755),
			put(filepath.Join(stage, target.file()), text, 0o755), put(filepath.Join(stage, "LICENSE"), []byte("l\n"), 0o644),
			put(filepath.Join(stage, "NOTICES"), []byte("n\n"), 0o644), put(filepath.Join(stage, "README.md"), []byte("r\n"), 0o644),
			put(filepath.Join(out, r.archiveName(target)+".cdx.json"), []byte("{}"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// unzip is what is in an archive, by name, which has to be of the time of builtRelease.
func unzip(t *testing.T, file string) map[string]member {
	t.Helper()
	return unzipOf(t, file, time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC))
}

// unzipOf is the same of another time; the zero one is any.
func unzipOf(t *testing.T, file string, date time.Time) map[string]member {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string]member{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || f.CreatorVersion>>8 != 3 || f.Method != zip.Deflate || !date.IsZero() && !f.Modified.Equal(date) {
			t.Errorf("%s: %v, made by %d, method %d, of %s", f.Name, err, f.CreatorVersion>>8, f.Method, f.Modified)
		}
		all[f.Name] = member{f.Name, text, f.Mode()}
	}
	return all
}

// TestBundles: each bundle holds what its manifest starts, with the modes to start it, and declares every setting that it passes on.
func TestBundles(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	first := ""
	for range 2 { // and the second time the same, byte for byte
		if err := errors.Join(r.bundleDarwin(), r.bundleLinux(), r.bundleWindows(), r.plugin(), writeSums(r.out)); err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err := errors.Join(err, os.Remove(filepath.Join(r.out, "SHA256SUMS"))); err != nil || first != "" && first != string(sums) {
			t.Errorf("bundles are\n%snow, %v", sums, err)
		}
		first = string(sums)
	}
	for system, want := range map[string]struct {
		platform string
		programs []string
	}{
		"darwin":  {"darwin", []string{"server/ctx"}},
		"linux":   {"linux", []string{"server/ctx_amd64", "server/ctx_arm64", "server/launch.sh"}},
		"windows": {"win32", []string{"server/ctx.exe"}},
	} {
		members := unzip(t, filepath.Join(r.out, "ctx_1.2.3_"+system+".mcpb"))
		for name, m := range members {
			if executable := slices.Contains(want.programs, name); executable && m.mode != 0o755 || !executable && m.mode != 0o644 {
				t.Errorf("%s: %s has mode %s", system, name, m.mode)
			}
		}
		if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, append([]string{"LICENSE", "NOTICES", "manifest.json"}, want.programs...)) {
			t.Errorf("%s: it holds %v", system, got)
		}
		var m manifest
		if err := json.Unmarshal(members["manifest.json"].text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Version != "1.2.3" || !slices.Equal(m.Compatibility.Platforms, []string{want.platform}) || members[m.Server.EntryPoint].text == nil {
			t.Errorf("%s: the manifest is of %s, for %v, and starts %s", system, m.Version, m.Compatibility.Platforms, m.Server.EntryPoint)
		}
		text := string(members["manifest.json"].text)
		for _, path := range regexp.MustCompile(`\$\{__dirname\}/([^"]*)`).FindAllStringSubmatch(text, -1) {
			if members[path[1]].mode != 0o755 {
				t.Errorf("%s: what is started, %s, has mode %s", system, path[1], members[path[1]].mode)
			}
		}
		passed := regexp.MustCompile(`"\$\{user_config\.(\w+)\}"`).FindAllStringSubmatch(text, -1)
		for _, name := range passed {
			if c := m.UserConfig[name[1]]; c.Type == "" || c.Title == "" || c.Description == "" || c.Required {
				t.Errorf("%s: setting %s is %+v", system, name[1], c)
			}
		}
		if len(passed) != 3 || len(m.UserConfig) != 3 || !m.UserConfig["key"].Sensitive || strings.Count(text, "example.org") != 1 {
			t.Errorf("%s: the manifest is\n%s", system, text)
		}
	}
}

// TestFat reads the universal program of macOS back.
func TestFat(t *testing.T) {
	t.Parallel()
	intel, arm := machO(macho.CpuAmd64, strings.Repeat("x", 1<<fatAlign)), machO(macho.CpuArm64, "y")
	text, err := fat(intel, arm)
	if err != nil {
		t.Fatal(err)
	}
	f, err := macho.NewFatFile(bytes.NewReader(text))
	if err != nil || len(f.Arches) != 2 {
		t.Fatal(err)
	}
	for i, want := range [][]byte{intel, arm} {
		a := f.Arches[i]
		if a.Align != fatAlign || a.Offset%(1<<fatAlign) != 0 || a.FatArchHeader.SubCpu != 3 || !bytes.Equal(text[a.Offset:a.Offset+a.Size], want) {
			t.Errorf("program %d is at %+v", i, a.FatArchHeader)
		}
	}
	if _, err := fat([]byte("#!/bin/sh\n")); err == nil {
		t.Error("a script is in a program of macOS")
	}
}

// TestLaunch: in the bundle for Linux a script starts the program for the machine, even if a host has dropped what makes it executable.
func TestLaunch(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	if err := r.bundleLinux(); err != nil {
		t.Fatal(err)
	}
	members := unzip(t, filepath.Join(r.out, "ctx_1.2.3_linux.mcpb"))
	var m manifest
	if err := json.Unmarshal(members["manifest.json"].text, &m); err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[string]string{
		"x86_64": "ctx/linux/amd64 mcp stdio\n", "aarch64": "ctx/linux/arm64 mcp stdio\n", "riscv64": "ctx: this bundle has no program for riscv64\n",
	} {
		dir := filepath.Join(t.TempDir(), "a directory")
		for _, f := range members {
			if err := put(filepath.Join(dir, f.name), f.text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		on := newMachine(t, "Linux", machine, "sh", "chmod")
		var args []string
		for _, arg := range m.Server.Config.Args {
			args = append(args, strings.ReplaceAll(arg, "${__dirname}", dir))
		}
		c := exec.CommandContext(t.Context(), m.Server.Config.Command, args...)
		c.Env = []string{"PATH=" + on.bin}
		if text, err := c.CombinedOutput(); string(text) != want || (err != nil) != (machine == "riscv64") {
			t.Errorf("on %s: %q, %v", machine, text, err)
		}
	}
}

// TestPlugin: the plugin in the checkout and the packed one start ctx, and with a host they call the service there. No other address is in it.
func TestPlugin(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	read := func() (map[string]member, plugin) {
		t.Helper()
		if err := r.plugin(); err != nil {
			t.Fatal(err)
		}
		members := unzip(t, filepath.Join(r.out, "contextd-plugin_1.2.3.zip"))
		var p plugin
		if err := json.Unmarshal(members["contextd-plugin/"+pluginManifest].text, &p); err != nil {
			t.Fatal(err)
		}
		return members, p
	}
	members, p := read()
	server, err := json.Marshal(p.MCPServers)
	if want := `{"contextd":{"args":["mcp","stdio"],"command":"ctx"}}`; err != nil || string(server) != want || p.Version != "1.2.3" {
		t.Errorf("version %s starts %s, %v", p.Version, server, err)
	}
	var market struct {
		Name     string
		Owner    struct{ Name string }
		Metadata struct{ Description string }
		Plugins  []struct{ Name, Source, Description string }
	}
	d := json.NewDecoder(bytes.NewReader(members["contextd-plugin/.claude-plugin/marketplace.json"].text))
	d.DisallowUnknownFields()
	if err := d.Decode(&market); err != nil {
		t.Fatal(err)
	}
	if len(market.Plugins) != 1 || market.Owner.Name == "" || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(market.Name) ||
		market.Plugins[0].Name != p.Name || market.Plugins[0].Description != p.Description ||
		market.Metadata.Description == "" || len(strings.Fields(string(members["contextd-plugin/contextd/README.md"].text))) < 40 {
		t.Errorf("the marketplace is %+v", market)
	} else if source := market.Plugins[0].Source; members["contextd-plugin/"+strings.TrimPrefix(source, "./")+"/.claude-plugin/plugin.json"].text == nil {
		t.Errorf("the plugin is not at %s", source)
	}
	for name, m := range members {
		for _, address := range regexp.MustCompile(`https?://[^"/\s]+`).FindAllString(string(m.text), -1) {
			if strings.HasPrefix(name, "contextd-plugin/contextd/.claude-plugin") && address != "https://github.com" {
				t.Errorf("%s names %s", name, address)
			}
		}
	}
	r.host = "https://context.example.org"
	_, p = read()
	server, err = json.Marshal(p.MCPServers)
	if want := `{"contextd":{"type":"http","url":"https://context.example.org/mcp"}}`; err != nil || string(server) != want {
		t.Errorf("with a host it starts %s, %v", server, err)
	}
	if m := r.manifest("darwin", "server/ctx"); m.UserConfig["url"].Default != r.host {
		t.Errorf("a bundle for a host has the setting %+v", m.UserConfig["url"])
	}
}

// TestPluginSkills: every skill is in the plugin as it is in the tree or, with a host, as the service there has it.
func TestPluginSkills(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	for _, host := range []string{"", "https://context.example.org"} {
		r.host = host
		list, err := skills.All(host)
		if err := errors.Join(err, r.plugin()); err != nil || len(list) == 0 {
			t.Fatal(err)
		}
		members := unzip(t, filepath.Join(r.out, "contextd-plugin_1.2.3.zip"))
		for _, s := range list {
			if got := members["contextd-plugin/contextd/skills/"+s.Name+"/SKILL.md"]; !bytes.Equal(got.text, s.Text) {
				t.Errorf("for %q the skill %s is %q", host, s.Name, got.text)
			}
		}
		if len(members) != len(list)+3 {
			t.Errorf("the plugin holds %v", slices.Sorted(maps.Keys(members)))
		}
	}
}

// TestPluginRefuses: a plugin without a description is none, and one with a member that old versions refuse is not written.
func TestPluginRefuses(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	r.root = t.TempDir()
	if err := put(filepath.Join(r.root, pluginDir, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.plugin(); err == nil || !strings.Contains(err.Error(), pluginManifest) {
		t.Errorf("without a description: %v", err)
	}
	for text, ok := range map[string]bool{`{"displayName": "x"}`: false, `{"description": "x"}`: true} {
		if err := put(filepath.Join(r.root, pluginDir, pluginManifest), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.plugin(); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheckHost: bundles and plugins lead to https alone.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"": true, "https://context.example.org": true, "https://context.example.org:8443": true, "http://context.example.org": false,
		"https://context.example.org/": false, "https://a:b@context.example.org": false, "context.example.org": false, "https://": false,
		"https://context.example.org?x": false,
	} {
		if err := checkHost(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
