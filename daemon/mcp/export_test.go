package mcp

import "net/http"

// NewFront makes a Server whose door, router and writer stand before other handlers than the SDK's, for tests with servers that have what
// ours has no use for.
func NewFront(cfg Config, stateful, stateless, bare http.Handler) (*Server, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	s.stateful, s.stateless, s.bare = stateful, stateless, bare
	return s, nil
}
