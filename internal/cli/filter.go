package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/itchyny/gojq"

	"github.com/contextd/contextd/internal/human"
)

// Filter is a jq filter. It knows no environment and no files.
type Filter struct{ code *gojq.Code }

// ParseFilter reads a jq filter.
func ParseFilter(text string) (*Filter, error) {
	query, err := gojq.Parse(text)
	if at, ok := errors.AsType[*gojq.ParseError](err); ok {
		before := text[:max(min(at.Offset, len(text))-len(at.Token), 0)]
		return nil, fmt.Errorf("jq filter: %w behind %q", err, human.Short(before, human.Quoted))
	}
	if err != nil {
		return nil, fmt.Errorf("jq filter: %w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq filter: %w", err)
	}
	return &Filter{code}, nil
}

// Results are what f makes of doc, in their order: nil, bool, string, []any, map[string]any and the kinds of numbers that gojq has. An
// error is the last of them: a mistake of the user's, or why ctx is done.
func (f *Filter) Results(ctx context.Context, doc json.RawMessage) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		var input any
		if err := d.Decode(&input); err != nil {
			yield(nil, fmt.Errorf("jq filter: %w", err))
			return
		}
		for results := f.code.RunWithContext(ctx, input); ; {
			v, ok := results.Next()
			if !ok {
				return
			}
			err, failed := v.(error)
			if !failed {
				if !yield(v, nil) {
					return
				}
				continue
			}
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil && ctx.Err() == nil {
				return
			}
			if err = Invalid("jq filter: %w", err); ctx.Err() != nil {
				err = ctx.Err()
			}
			yield(nil, err)
			return
		}
	}
}

// ResultJSON is a result of a filter as JSON.
func ResultJSON(v any) (json.RawMessage, error) {
	text, err := gojq.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("jq filter: %w", err)
	}
	return text, nil
}
