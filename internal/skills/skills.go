// Package skills holds the skills for agents: how to use the service well, each a directory with a SKILL.md as agentskills.io has it.
//
// The daemon serves them over HTTP and as resources of MCP, and releases carry them in the plugin; all are copies of the files here, which
// is why they are a package of their own. Where a file names $CTX_BASE_URL, as ctx does, the daemon writes its own address. Examples
// marked sh run in the tests.
package skills

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed */SKILL.md
var files embed.FS

// File is the name of the file of a skill in its directory.
const File = "SKILL.md"

// address stands in the files for the address of the service.
const address = "$CTX_BASE_URL"

// Skill is one skill, whose directory has its name.
type Skill struct {
	Name        string
	Description string            // what it is for, and when
	Front       map[string]string // the front matter, name and description included
	Text        []byte            // the file
}

// All returns the skills in the order of their names, as they are served at base; "" leaves them as the files are.
func All(base string) ([]Skill, error) {
	paths, err := fs.Glob(files, "*/"+File)
	if err != nil {
		return nil, err
	}
	var list []Skill
	for _, path := range paths {
		text, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("read the skill %s: %w", path, err)
		}
		if base != "" {
			s.Text = []byte(strings.ReplaceAll(string(text), address, base))
		}
		list = append(list, s)
	}
	return list, nil
}

// Digest is the hash of the text as indexes have it.
func (s Skill) Digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(s.Text)) }

// parse reads a file. Values of its front matter are plain, on the line of their names.
func parse(text string) (s Skill, err error) {
	front, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---\n") {
		return s, fmt.Errorf("it has no front matter")
	}
	s.Text, s.Front = []byte(text), map[string]string{}
	for line := range strings.SplitSeq(front, "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			return s, fmt.Errorf("%q is not a name with a value", line)
		}
		s.Front[name] = value
	}
	s.Name, s.Description = s.Front["name"], s.Front["description"]
	return s, nil
}
