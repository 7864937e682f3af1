package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Flags finds the flags of a state that are of at least a severity, "" for any, and of one of kinds, none for all.
func Flags(least api.Severity, kinds []string) func(context.Context, State) ([]Finding, error) {
	return func(_ context.Context, s State) ([]Finding, error) {
		if err := s.Doc.Err(); err != nil {
			return nil, fmt.Errorf("read state: %w", err)
		}
		list := s.Doc.Root().Member(api.MemberFlags)
		if list == nil || !list.IsArray() {
			return nil, errors.New("the state has no flags")
		}
		var raw []json.RawMessage
		for _, one := range list.Members {
			raw = append(raw, one.Raw)
		}
		for _, f := range s.Beside {
			text, err := json.Marshal(f)
			if err != nil {
				return nil, fmt.Errorf("write flag: %w", err)
			}
			raw = append(raw, text) // of two with one id, the first counts
		}
		var found []Finding
		for _, one := range raw {
			var f api.Flag
			if err := json.Unmarshal(one, &f); err != nil {
				return nil, fmt.Errorf("read flag: %w", err)
			}
			if f.Severity.Rank() < least.Rank() || len(kinds) > 0 && !slices.Contains(kinds, f.Kind) {
				continue
			}
			found = append(found, Finding{
				Key: cmp.Or(f.ID, f.Kind+":"+f.Subject), Onset: onset(f.Since), Level: f.Severity.Rank(),
				Event: Event{
					Kind: human.Line(f.Kind), Severity: f.Severity, Subject: human.Line(f.Subject),
					Message: human.Line(f.Message), Value: one,
				},
			})
		}
		return found, nil
	}
}

func onset(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.UTC().Format(time.RFC3339Nano)
}
