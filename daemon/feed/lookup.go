package feed

import (
	"sync"
	"sync/atomic"

	"github.com/contextd/contextd/internal/state"
)

// maxLooked is how many questions are kept with what they find in one set of rows. It is more than are asked often, and a bound on what
// callers can make us hold.
const maxLooked = 1024

type question struct {
	q, kind string
	limit   int
}

// looked are questions with what they find in one set of rows.
type looked struct {
	found  sync.Map // state.Found by question
	cached atomic.Int64
}

// Lookup is what a question finds in e's rows: it is looked up for the first who asks. The caller must not change it.
func (e *Edition) Lookup(q, kind string, limit int) state.Found {
	asked := question{q, kind, limit}
	if kept, ok := e.looked.found.Load(asked); ok {
		return kept.(state.Found)
	}
	f := e.Rows.Lookup(q, kind, limit)
	if e.looked.cached.Add(1) <= maxLooked {
		e.looked.found.Store(asked, f)
	}
	return f
}
