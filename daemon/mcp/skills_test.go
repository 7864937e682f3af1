package mcp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// skilled opens a studio that serves the skills.
func skilled(t *testing.T) (*studio, []skills.Skill) {
	t.Helper()
	list, err := skills.All("https://context.example.org")
	if err != nil {
		t.Fatal(err)
	}
	return newStudio(t, func(c *mcp.Config) { c.Skills = list }), list
}

// skillAnswer is what the methods of the extension answer.
type skillAnswer struct {
	Result struct {
		ResultType string
		TTLMs      int
		CacheScope string
		Skills     []skillTold
		Skill      skillTold
	}
	Error struct{ Code int }
}

type skillTold struct {
	URI         string
	Frontmatter map[string]string
	Resources   []struct {
		URI, Digest string
		Size        int
	}
}

// TestSkills: clients of both eras, in a session and without one, list the skills with what is in their front matter, get one of them, and
// read the file byte for byte as its digest has it. It is the same for everybody and may be kept.
func TestSkills(t *testing.T) {
	t.Parallel()
	s, want := skilled(t)
	key := s.key(0)
	id := s.initialize(key)
	ask := func(method, params string) map[string]skillAnswer {
		t.Helper()
		answers := map[string]skillAnswer{}
		for era, headers := range map[string][]string{
			"session": s.in(key, id), "bare": bearer(key), "modern": modern(key, method, ""),
		} {
			sent := params
			if era == "modern" {
				sent = strings.Replace("{"+meta+","+strings.TrimPrefix(params, "{"), ",}", "}", 1)
			}
			a := s.post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+sent+`}`, headers...)
			text := a.Body
			for line := range strings.Lines(a.Body) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					text = data
				}
			}
			var got skillAnswer
			if err := json.Unmarshal([]byte(text), &got); err != nil || a.Status != http.StatusOK && got.Error.Code == 0 {
				t.Errorf("%s %s: %d %s", era, method, a.Status, a.Body)
			}
			answers[era] = got
		}
		return answers
	}
	holds := func(what string, told skillTold, s skills.Skill) {
		t.Helper()
		uri := "skill://" + s.Name + "/SKILL.md"
		if told.URI != uri || told.Frontmatter["name"] != s.Name || told.Frontmatter["description"] != s.Description || len(told.Frontmatter) != len(s.Front) ||
			len(told.Resources) != 1 || told.Resources[0].URI != uri || told.Resources[0].Digest != s.Digest() || told.Resources[0].Size != len(s.Text) {
			t.Errorf("%s: told %+v of %s", what, told, s.Name)
		}
	}
	for era, a := range ask("skills/list", "{}") {
		if r := a.Result; len(r.Skills) != len(want) || r.CacheScope != "public" || r.TTLMs != 3_600_000 || r.ResultType != "complete" {
			t.Fatalf("%s: %+v", era, a)
		}
		for i, told := range a.Result.Skills {
			holds(era, told, want[i])
		}
	}
	for _, skill := range want {
		for era, a := range ask("skills/get", `{"uri":"skill://`+skill.Name+`/SKILL.md"}`) {
			holds(era, a.Result.Skill, skill)
			if a.Result.Skills != nil || a.Result.CacheScope != "public" {
				t.Errorf("%s: %+v", era, a)
			}
		}
		read := s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://`+skill.Name+`/SKILL.md"}}`, bearer(key)...).read(t).Result
		if len(read.Contents) != 1 || !bytes.Equal([]byte(read.Contents[0].Text), skill.Text) || read.Contents[0].MIMEType != "text/markdown" ||
			read.CacheScope != "public" {
			t.Errorf("%s is read as %+v", skill.Name, read)
		}
	}
	for method, params := range map[string]string{"skills/get": `{"uri":"skill://none/SKILL.md"}`, "skills/list": `{"cursor":"x"}`} {
		for era, a := range ask(method, params) {
			if a.Error.Code != -32602 {
				t.Errorf("%s %s %s: %+v", era, method, params, a)
			}
		}
	}
	if n := s.calls(key, api.OpFresh); n != 0 {
		t.Errorf("%d calls were charged", n)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, bearer(key)...); strings.Count(a.Body, `"skill://`) != len(want) {
		t.Errorf("the resources are %s", a.Body)
	}
}

// TestSkillsFree: who has no key reads a skill as everybody does over HTTP; a list costs what lists cost.
func TestSkillsFree(t *testing.T) {
	t.Parallel()
	s, want := skilled(t)
	for body, status := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://` + want[0].Name + `/SKILL.md"}}`: http.StatusOK,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"context://packs/crypto/state"}}`:          http.StatusUnauthorized,
		`{"jsonrpc":"2.0","id":1,"method":"skills/list"}`:                                                             http.StatusUnauthorized,
	} {
		if a := s.post(body); a.Status != status {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
}

// TestSkillsTold: both handshakes tell of the skills, and of none where there are none.
func TestSkillsTold(t *testing.T) {
	t.Parallel()
	some, _ := skilled(t)
	none := newStudio(t)
	for s, want := range map[*studio]bool{some: true, none: false} {
		key := s.key(0)
		for what, a := range map[string]answer{
			"initialize": s.post(initialize, bearer(key, "Accept", streams, "Content-Type", "application/json")...),
			"discover": s.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`,
				modern(key, "server/discover", "")...),
		} {
			if strings.Contains(a.Body, `"io.modelcontextprotocol/skills":{}`) != want {
				t.Errorf("%s with skills %t: %s", what, want, a.Body)
			}
		}
	}
}
