// Package brief writes the narrated brief of a state and checks it: every anchor [N] names a source of the pack, and every figure is
// that of the row, the field, the unit and the time that its sentence names.
//
// A writer only proposes; Check decides. The built-in writer needs nothing but the state and is deterministic. The package
// stores nothing and reads no clock.
package brief

import (
	"context"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Input is what a brief is written from.
type Input struct {
	Pack      string          // pack id
	State     *state.Document // the state as served
	Citations []api.Citation  // every source of the pack, [1] first
	Prompt    string          // what the reader wants in it; "" for nothing special. Not every writer heeds it.
	Owner     string          // whose prompt that is, "" for nobody's
}

// Draft is a text that is not checked yet, and what it took.
type Draft struct {
	Text    string          // prose with [N] anchors
	Origins []ground.Origin // of parts of Text, where the writer knows them
	Usage   Usage
}

// Usage is what language models took for a text. That of the built-in writer is zero.
type Usage struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	CostMicros   int64 `json:"costMicros"` // millionths of a US dollar; 0 where prices are not known
}

// Plus is the sum of u and v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CostMicros + v.CostMicros}
}

// Minus is u without v.
func (u Usage) Minus(v Usage) Usage {
	return u.Plus(Usage{-v.InputTokens, -v.OutputTokens, -v.CostMicros})
}

// Tokens are those of both directions.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// Limit bounds what language models may take in a day of UTC. 0 is without bound.
type Limit struct {
	Tokens     int64 `json:"tokens"`
	CostMicros int64 `json:"costMicros"`
}

// Day names the day of UTC that t is in.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Writer writes the prose of a brief. Its methods return soon after ctx is done.
type Writer interface {
	// Name names the writer in logs and in storage, for example "built-in".
	Name() string
	// Write returns a draft. With an error only its Usage counts.
	Write(ctx context.Context, in Input) (Draft, error)
}

// Repairer is a Writer that can mend its own text.
type Repairer interface {
	// Repair returns a new draft in place of the one that was refused, which has findings.
	Repair(ctx context.Context, in Input, refused *Refusal) (Draft, error)
}
