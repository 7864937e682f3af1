// Package brief writes the narrated brief of a state and checks it: every anchor [N] names a source of the pack and every
// figure occurs in the rows of the state that the anchors of its sentence point to.
//
// A writer only proposes; Check decides. The built-in writer needs nothing but the state and is deterministic. The package
// stores nothing and reads no clock.
package brief

import (
	"context"

	"github.com/contextd/contextd/sdk/api"
)

// Input is what a brief is written from.
type Input struct {
	Pack      string         // pack id
	State     []byte         // the state as served
	Citations []api.Citation // every source of the pack, [1] first
}

// Writer writes the prose of a brief.
type Writer interface {
	// Name names the writer in logs and in storage, for example "built-in".
	Name() string
	// Write returns prose with [N] anchors. It is not checked yet.
	Write(ctx context.Context, in Input) (string, error)
}
