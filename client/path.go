package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
)

var indexForm = regexp.MustCompile(`\[(\d+)\]`)

// at is the answer that holds what is at a path of doc: top_movers.0.symbol, or top_movers[0].symbol as search writes it.
func at(doc json.RawMessage, path string, now time.Time) (cli.Answer, error) {
	steps := strings.Split(strings.Trim(indexForm.ReplaceAllString(path, ".$1"), "."), ".")
	for i, step := range steps {
		next, has, ok := descend(doc, step)
		if !ok {
			where := strings.Join(steps[:i], ".")
			if where == "" {
				where = "the state"
			}
			return cli.Answer{}, &cli.Failure{Exit: cli.ExitNotFound, Reason: "no_such_path",
				Err: fmt.Errorf("no %q in %s, which has %s", step, where, has)}
		}
		doc = next
	}
	answer := cli.Answer{JSON: doc, Piped: cli.JSON, Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: now}.Tree(doc)
	}}
	if !bytes.ContainsAny(doc[:1], "{[") {
		answer.Piped = cli.Text
		answer.Text = func(w io.Writer, _ int, _ cli.Style) error {
			_, err := fmt.Fprintln(w, human.Text(cli.Scalar(doc)))
			return err
		}
	}
	return answer, nil
}

// descend returns the member or element of doc that step names; if there is none it returns what there is.
func descend(doc json.RawMessage, step string) (next json.RawMessage, has string, ok bool) {
	if members, err := jsonx.Members(doc); err == nil {
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = m.Name
		}
		if i := slices.Index(names, step); i >= 0 {
			return members[i].Raw, "", true
		}
		return nil, "the members " + strings.Join(names, ", "), false
	}
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) != nil || list == nil {
		return nil, "no parts", false
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list) {
		return list[i], "", true
	}
	return nil, fmt.Sprintf("%d elements, counted from 0", len(list)), false
}

// flatten is the object of all members of the answer body and, after them, those of its state. Members of the answer that may be
// absent are null then.
func flatten(body []byte, state json.RawMessage) (json.RawMessage, error) {
	members, err := jsonx.Members(body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(members, func(m *jsonx.Value) bool { return m.Name == name })
	}
	inner, _ := jsonx.Members(state) // a state of another form has no members
	null := json.RawMessage("null")
	for _, m := range append(inner, &jsonx.Value{Name: "briefAt", Raw: null}, &jsonx.Value{Name: "attestation", Raw: null}) {
		if !has(m.Name) {
			members = append(members, m)
		}
	}
	return jsonx.Object(members)
}
