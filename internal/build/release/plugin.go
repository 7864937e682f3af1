package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/contextd/contextd/internal/skills"
)

// pluginDir is the directory, in the checkout, of the marketplace and the plugin in it, which starts ctx. It can be installed from there.
const pluginDir = ".plugin"

// pluginManifest is where the plugin is described, below pluginDir.
const pluginManifest = "contextd/.claude-plugin/plugin.json"

// plugin is the description of a plugin for Claude Code, with the members that every version of it takes.
type plugin struct {
	Name        string         `json:"name"`
	Version     string         `json:"version,omitempty"`
	Description string         `json:"description"`
	Author      author         `json:"author"`
	Homepage    string         `json:"homepage"`
	Repository  string         `json:"repository"`
	License     string         `json:"license"`
	Keywords    []string       `json:"keywords"`
	MCPServers  map[string]any `json:"mcpServers"`
}

// plugin writes an archive of the marketplace with the plugin, of this version and with the skills. With a host, it calls the service there
// and needs no ctx.
func (r *release) plugin() error {
	members, err := tree(filepath.Join(r.root, pluginDir))
	if err != nil {
		return err
	}
	described := false
	for i, m := range members {
		if m.name == pluginManifest {
			if members[i].text, err = r.describePlugin(m.text); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			described = true
		}
	}
	if !described {
		return fmt.Errorf("no %s in %s", pluginManifest, pluginDir)
	}
	list, err := skills.All(r.host)
	if err != nil {
		return err
	}
	for _, s := range list {
		members = append(members, member{path.Join("contextd/skills", s.Name, skills.File), s.Text, 0o644})
	}
	for i := range members {
		members[i].name = "contextd-plugin/" + members[i].name
	}
	zipped, err := r.zip(members)
	if err != nil {
		return err
	}
	return put(filepath.Join(r.out, "contextd-plugin_"+r.number()+".zip"), zipped, 0o644)
}

// describePlugin is the description text with the version, without which users would keep the copy that they have, and with the
// service at the host.
func (r *release) describePlugin(text []byte) ([]byte, error) {
	var p plugin
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	p.Version = r.number()
	if r.host != "" {
		p.MCPServers = map[string]any{"contextd": map[string]string{"type": "http", "url": r.host + "/mcp"}}
	}
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// tree is the files in dir, in the order of their names.
func tree(dir string) (members []member, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		members = append(members, member{name, text, 0o644})
		return err
	})
	return members, err
}
