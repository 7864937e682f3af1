package brief

import (
	"context"
	"errors"

	"github.com/contextd/contextd/sdk/api"
)

// errNothing is returned where a state has neither rows nor sources, so that no sentence could cite anything.
var errNothing = errors.New("the state has nothing to write about")

// BuiltIn returns the writer that needs nothing but the state. The same state gives the same text, which passes Check.
//
// A brief of the crypto pack has 150 to 350 words: what matters most comes first, and how many items are told decides the length.
// It is shorter only where the state has no more to tell; then it says what is missing. A pack without rules of its own gets a
// short list of what its state holds and how its sources do.
func BuiltIn() Writer { return builtIn{} }

type builtIn struct{}

var _ Writer = builtIn{}

// Name implements Writer.
func (builtIn) Name() string { return "built-in" }

// Write implements Writer. It fails if the state cannot be read or holds nothing that could be cited.
func (builtIn) Write(_ context.Context, in Input) (Draft, error) {
	write := writePlain
	if in.Pack == api.PackCrypto {
		write = writeCrypto
	}
	draft, err := write(in)
	if err == nil && draft.Text == "" {
		err = errNothing
	}
	return draft, err
}
