package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// SeriesRequest is a query for Series.
type SeriesRequest struct {
	Pack   string        // empty means api.DefaultPack
	Path   string        // a member, for the rows now in it, or a row, such as asset/bitcoin; required
	Field  string        // the number; empty means the most important one of the kind
	Points int           // moments, api.SeriesPointsMin to api.SeriesPointsMax; 0 means api.SeriesPointsDefault
	Span   time.Duration // from the first moment to the last, whole seconds; 0 means api.SeriesSpanDefault
}

// Series returns a number of one row, or of the rows of a member, at even intervals until now.
func (c *Client) Series(ctx context.Context, r SeriesRequest, opts ...CallOption) (*api.SeriesResponse, error) {
	q := api.Query{Op: api.OpSeries, Pack: r.Pack, Path: r.Path, Field: r.Field, Points: r.Points, Span: r.Span}
	return ask[api.SeriesResponse](ctx, c, q, opts)
}

// HistoryRequest is a query for History.
type HistoryRequest struct {
	Pack   string        // empty means api.DefaultPack
	Member string        // of the state, such as top_movers, or a part of one; required
	From   time.Time     // the first moment; required
	To     time.Time     // the end, at most api.HistoryRangeMax after From; zero means now, or as far as a call may reach
	Every  time.Duration // from moment to moment, whole seconds; 0 means api.HistoryEveryMin
}

// History yields a member of past states, the oldest first. It makes one call, which needs a key and is charged once, api.HistoryCredits,
// before the first line. An error ends it: a *TransportError if the answer broke off. Lines before it are complete, and a request from
// there on returns the rest. Retries and the time limit of the Client apply only until the answer begins.
func (c *Client) History(ctx context.Context, r HistoryRequest, opts ...CallOption) iter.Seq2[api.HistoryLine, error] {
	return func(yield func(api.HistoryLine, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var limit *time.Timer
		if c.timeout > 0 {
			limit = time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
		}
		resp, err := c.openHistory(ctx, r, opts)
		if limit != nil {
			limit.Stop()
		}
		if err != nil {
			yield(api.HistoryLine{}, err)
			return
		}
		defer resp.Body.Close()
		silence := time.AfterFunc(streamSilence, func() { cancel(errSilent) })
		defer silence.Stop()
		bound := &io.LimitedReader{R: resp.Body}
		for lines := bufio.NewReader(bound); ; {
			bound.N = maxAnswerBytes
			text, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			var line api.HistoryLine
			switch {
			case err != nil:
				err = brokenOff(ctx, resp.Request, err)
			default:
				if err = json.Unmarshal(text, &line); err != nil {
					err = fmt.Errorf("read a line of history: %w", err)
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
			silence.Reset(streamSilence)
		}
	}
}

// errSilent is why a history was given up that sent nothing for streamSilence.
var errSilent = errors.New("no line for 60 seconds")

// brokenOff is why an answer has no end.
func brokenOff(ctx context.Context, req *http.Request, err error) error {
	switch why := context.Cause(ctx); {
	case why != nil && !errors.Is(why, errSilent):
		return why
	case why != nil:
		err = why
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return transportError(req, 1, fmt.Errorf("the answer broke off: %w", err))
}

// openHistory asks, again where that helps, until an answer begins.
func (c *Client) openHistory(ctx context.Context, r HistoryRequest, opts []CallOption) (*http.Response, error) {
	var o call
	for _, opt := range opts {
		opt(&o)
	}
	q := api.Query{Op: api.OpHistory, Pack: r.Pack, Path: r.Member, From: r.From.UTC(), Every: r.Every}
	if !r.To.IsZero() {
		q.To = r.To.UTC()
	}
	request := requestOf(q)
	request.Method = http.MethodGet
	target, err := c.target(request, o.query)
	if err != nil {
		return nil, err
	}
	var began *http.Response
	resp, err := c.persist(ctx, true, o.progress, func() (*Response, error) {
		req, err := c.request(ctx, request, target, o)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/x-ndjson, application/json")
		streaming := c.http
		streaming.Timeout = 0 // of whole answers
		if began, err = streaming.Do(req); err != nil {
			return nil, transportError(req, 1, err)
		}
		if began.StatusCode/100 == 2 {
			return newResponse(began, nil), nil
		}
		text, err := readAnswer(req, began)
		if err != nil {
			return nil, err
		}
		return newResponse(began, text), decodeError(began, text)
	})
	if resp != nil && o.response != nil {
		*o.response = *resp
	}
	if err != nil {
		return nil, err
	}
	return began, nil
}
