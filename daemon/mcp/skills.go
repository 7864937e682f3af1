package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/internal/skills"
)

// extensionSkills is the extension by which clients find the skills of a server (SEP-2640). Its methods answer clients of every era.
const (
	extensionSkills = "io.modelcontextprotocol/skills"
	methodSkills    = "skills/list"
	methodSkill     = "skills/get"
	schemeSkill     = "skill://"
)

// scopePublic lets every cache keep a result: it is the same for everybody.
const scopePublic = "public"

// keepSkills is for how long clients may keep skills, which change with the program.
const keepSkills = time.Hour

// skillParams are those of both methods.
type skillParams struct {
	sdk.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor"`
}

// skillEntry is a skill as clients list it: the front matter as it is in the file, and the files with their hashes.
type skillEntry struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// skillResult is the result of either method.
type skillResult struct {
	sdk.ResultBase
	sdk.Cacheable
	ResultType string        `json:"resultType"`
	Skills     *[]skillEntry `json:"skills,omitempty"`
	Skill      *skillEntry   `json:"skill,omitempty"`
}

func newSkillResult() *skillResult {
	return &skillResult{ResultType: "complete", Cacheable: sdk.Cacheable{CacheScope: scopePublic, TTLMs: int(keepSkills.Milliseconds())}}
}

func skillURI(s skills.Skill) string { return schemeSkill + s.Name + "/" + skills.File }

func entryOf(s skills.Skill) skillEntry {
	return skillEntry{skillURI(s), s.Front, []skillFile{{skillURI(s), s.Digest(), len(s.Text)}}}
}

// skill is the one whose file a URI names, nil if there is none.
func (s *Server) skill(uri string) *skills.Skill {
	name, ok := strings.CutPrefix(uri, schemeSkill)
	for i := range s.cfg.Skills {
		if at := &s.cfg.Skills[i]; ok && name == at.Name+"/"+skills.File {
			return at
		}
	}
	return nil
}

// addSkills serves the skills, as resources and by the methods of the extension.
func (s *Server) addSkills() {
	if len(s.cfg.Skills) == 0 {
		return
	}
	for _, skill := range s.cfg.Skills {
		s.sdk.AddResource(&sdk.Resource{
			URI: skillURI(skill), Name: skill.Name, MIMEType: typeMarkdown, Size: int64(len(skill.Text)), Description: skill.Description,
		}, s.read)
	}
	// It fails for methods of the SDK's own alone.
	_ = sdk.AddReceivingCustomMethod(s.sdk, methodSkills, s.listSkills)
	_ = sdk.AddReceivingCustomMethod(s.sdk, methodSkill, s.getSkill)
}

func (s *Server) listSkills(_ context.Context, _ *sdk.ServerSession, p *skillParams) (*skillResult, error) {
	if p != nil && p.Cursor != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is one page of skills: leave cursor out"}
	}
	res, list := newSkillResult(), []skillEntry{}
	for _, skill := range s.cfg.Skills {
		list = append(list, entryOf(skill))
	}
	res.Skills = &list
	return res, nil
}

func (s *Server) getSkill(_ context.Context, _ *sdk.ServerSession, p *skillParams) (*skillResult, error) {
	if p == nil || s.skill(p.URI) == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such skill: " + methodSkills + " has all"}
	}
	res, entry := newSkillResult(), entryOf(*s.skill(p.URI))
	res.Skill = &entry
	return res, nil
}

// readSkill reads the file of a skill, which is free.
func readSkill(skill *skills.Skill) *sdk.ReadResourceResult {
	content := &sdk.ResourceContents{URI: skillURI(*skill), MIMEType: typeMarkdown, Text: string(skill.Text)}
	res := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}
	res.CacheScope, res.TTLMs = scopePublic, int(keepSkills.Milliseconds())
	return res
}
