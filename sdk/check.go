package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// CheckRequest is a text for Check.
type CheckRequest struct {
	Pack   string        // empty means api.DefaultPack
	Text   string        // at most api.MaxCheckBytes and api.MaxCheckFigures numbers; required
	At     time.Time     // the moment that it is about, read as that of Snapshot; zero means now
	Within time.Duration // a value of so long before counts too, whole seconds; 0 means api.CheckWithin
	All    bool          // with what is verified
	Basis  bool          // with what the text was judged against, for Bundle.Check
}

// Check judges the figures of a text against what the sources last gave, or against a past state. A text of which nothing can be judged is
// free for a key.
func (c *Client) Check(ctx context.Context, r CheckRequest, opts ...CallOption) (*api.CheckResponse, error) {
	q := api.Query{Op: api.OpCheck, Pack: r.Pack, Text: r.Text, Span: r.Within, All: r.All, Basis: r.Basis}
	if !r.At.IsZero() {
		q.At = api.MomentOf(r.At)
	}
	request := requestOf(q)
	request.Query.Del("text")
	body, err := json.Marshal(map[string]string{"text": r.Text})
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	request.Method, request.Body = http.MethodPost, body
	resp, err := c.Do(ctx, request, opts...)
	if err != nil {
		return nil, err
	}
	return decodeAs[api.CheckResponse](resp)
}
