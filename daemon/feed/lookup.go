package feed

import (
	"sync"
	"sync/atomic"

	"github.com/contextd/contextd/internal/state"
)

// maxLooked is how many questions are kept as one set of rows reads them. It is more than are asked often, and a bound on what
// callers can make us hold.
const maxLooked = 1024

type question struct {
	q, kind string
	limit   int
}

// looked are questions as they are read by one set of rows.
type looked struct {
	read   sync.Map // state.Question by question
	cached atomic.Int64
}

// Question is q as it is read by e's rows: it is read for the first who asks. The caller must not change it.
func (e *Edition) Question(q, kind string, limit int) state.Question {
	asked := question{q, kind, limit}
	if kept, ok := e.looked.read.Load(asked); ok {
		return kept.(state.Question)
	}
	read := e.Rows.Read(q, kind, limit)
	if e.looked.cached.Add(1) <= maxLooked {
		e.looked.read.Store(asked, read)
	}
	return read
}
