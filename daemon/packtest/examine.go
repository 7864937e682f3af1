package packtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

type published struct {
	members map[string][]map[string]any
	flags   []api.Flag
	status  []api.SourceStatus
}

func readState(text []byte) (p published, err error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return p, err
	}
	if err := json.Unmarshal(doc["flags"], &p.flags); err != nil {
		return p, err
	}
	if err := json.Unmarshal(doc["source_status"], &p.status); err != nil {
		return p, err
	}
	delete(doc, "flags")
	delete(doc, "source_status")
	p.members = make(map[string][]map[string]any, len(doc))
	for name, raw := range doc {
		var rows []map[string]any
		if err := json.Unmarshal(raw, &rows); err != nil {
			return p, err
		}
		p.members[name] = rows
	}
	return p, nil
}

func (t *trial) examine(ctx context.Context, check string) {
	pulse := t.harness.pulse
	t.checkState(check, pulse.State, pulse.Citations)
	for _, row := range t.harness.tables.Rows() {
		if row.Ref < 1 || row.Ref > len(t.pack.Sources) || row.Key == "" || !clean(row.Name) || !safe(row.URL) {
			t.fail(check, "", "a row of the tables does not hold: %+v", row)
		}
	}
	if told := t.harness.narration; told.Of.Equal(pulse.GeneratedAt) && told.Text != "" {
		t.checkBrief(told.Text, pulse)
		return
	}
	in := brief.Input{Pack: pulse.Pack, State: pulse.Read(), Citations: pulse.Citations}
	draft, err := t.writer.Write(ctx, in)
	switch {
	case err != nil:
		t.fail("brief", "", "%v", err)
	default:
		t.checkBrief(draft.Text, pulse)
	}
}

// checkBrief holds a brief against its state.
func (t *trial) checkBrief(text string, p state.Pulse) {
	for _, f := range brief.Check(text, brief.Input{Pack: p.Pack, State: p.Read(), Citations: p.Citations}) {
		t.fail("brief", "", "%s", f)
	}
}

// checkState checks that a state fits, and that all of it leads to a source.
func (t *trial) checkState(check string, text []byte, citations []api.Citation) {
	m := t.cfg.Manifest
	if len(text) > m.Limits.StateBytes {
		t.fail("size", "", "a state has %d bytes, over limits.state_bytes: %d", len(text), m.Limits.StateBytes)
	}
	p, err := readState(text)
	if err != nil {
		t.fail(check, "", "the state cannot be read: %v", err)
		return
	}
	for _, member := range m.Members {
		for _, row := range p.members[member.Name] {
			ref := t.checkRow(check, member.Name, row)
			if ref > 0 && !slices.Contains(member.From, t.pack.Sources[ref-1].ID) {
				t.fail(check, "", "a row of %s is of [%d], which is none of its sources", member.Name, ref)
			}
		}
	}
	t.checkAnchors(check, p, citations)
}

// checkAnchors checks that flags, states of sources and citations lead to the sources.
func (t *trial) checkAnchors(check string, p published, citations []api.Citation) {
	for _, f := range p.flags {
		if f.Ref < 1 || f.Ref > len(t.pack.Sources) || f.Message == "" || !clean(f.Message+f.Subject) || f.Severity.Rank() == 0 {
			t.fail(check, "", "the flag %s does not hold: %+v", f.ID, f)
		}
	}
	if len(p.status) != len(t.pack.Sources) || len(citations) != len(t.pack.Sources) {
		t.fail(check, "", "%d sources have %d states and %d citations", len(t.pack.Sources), len(p.status), len(citations))
		return
	}
	for i, s := range t.pack.Sources {
		status, cited := p.status[i], citations[i]
		if status.ID != s.ID || status.Ref != i+1 || cited.Ref != i+1 || cited.URL != s.PublicURL || !clean(cited.Excerpt) {
			t.fail(check, s.ID, "its ref [%d] does not resolve: %+v", i+1, cited)
		}
	}
}

// checkRow checks a row of a member and returns its anchor, 0 for none that leads anywhere.
func (t *trial) checkRow(check, member string, row map[string]any) int {
	for name, value := range row {
		text, is := value.(string)
		if is && !clean(text) || name == "url" && !safe(text) {
			t.fail(check, "", "%s of a row of %s is not clean: %q", name, member, text)
		}
	}
	id, _ := row["id"].(string)
	name, _ := row["name"].(string)
	if id == "" || name == "" {
		t.fail(check, "", "a row of %s has no id, or no name", member)
	}
	ref, _ := row["ref"].(float64)
	if ref < 1 || int(ref) > len(t.pack.Sources) {
		t.fail(check, "", "the ref of %s of %s does not resolve", id, member)
		return 0
	}
	return int(ref)
}

// clean reports whether text may stand in a state.
func clean(text string) bool { return !strings.ContainsFunc(text, human.Hostile) }

// safe reports whether a link, where there is one, leads to the web.
func safe(link string) bool {
	return link == "" || strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://")
}

func declared(m *manifest.Manifest, id string) *manifest.Source {
	i := slices.IndexFunc(m.Sources, func(s manifest.Source) bool { return s.ID == id })
	return &m.Sources[i]
}
