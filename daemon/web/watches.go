package web

import (
	"context"
	"net/http"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Watches keeps watches; *watch.Service is one.
type Watches interface {
	Make(ctx context.Context, who gate.Credentials, r api.WatchRequest) (w api.Watch, left billing.Left, err error)
	List(ctx context.Context, c gate.Caller) ([]api.Watch, error)
	Events(ctx context.Context, c gate.Caller, id, cursor string) (api.EventPage, error)
	Remove(ctx context.Context, c gate.Caller, id string) error
	Test(ctx context.Context, c gate.Caller, id string) error
}

// WatchConfig is what the routes of watches need.
type WatchConfig struct {
	Watches Watches
	Known   func(bearer string) (gate.Caller, error) // the caller with a key
	Payers  *Payers
	Now     func() time.Time
}

// watches are the routes of watches.
type watches struct {
	WatchConfig
	polls *Limiter // per key
}

// WatchRoutes are those of watches, for Config. They are for keys alone.
func WatchRoutes(cfg WatchConfig) Routes {
	s := watches{cfg, NewLimiter(api.WatchPolls, time.Minute/api.WatchPolls, cfg.Now)}
	return Routes{
		api.PathWatches:     {http.MethodGet: s.keyed(s.list), http.MethodPost: s.make},
		api.PathWatch:       {http.MethodDelete: s.keyed(s.remove)},
		api.PathWatchEvents: {http.MethodGet: s.keyed(s.events)},
		api.PathWatchTest:   {http.MethodPost: s.keyed(s.test)},
	}
}

// keyed lets h answer who has a key. It is free, and bounded by key.
func (s watches) keyed(h func(http.ResponseWriter, *http.Request, gate.Caller) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		if r.Header["Authorization"] == nil {
			return api.KeyMissing("watches need an API key").WithHint("send Authorization: Bearer <API_KEY>")
		}
		who, err := s.Payers.Credentials(r, x402.Subject{})
		if err != nil {
			return err
		}
		caller, err := s.Known(who.Bearer)
		if err == nil {
			err = s.polls.take(1, "this key", "key "+caller.KeyID)
		}
		if err != nil {
			return err
		}
		return h(w, r, caller)
	}
}

func (s watches) list(w http.ResponseWriter, r *http.Request, c gate.Caller) error {
	list, err := s.Watches.List(r.Context(), c)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.WatchList{Watches: list})
}

// make makes a watch. It is charged as a call.
func (s watches) make(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	var ask api.WatchRequest
	const example = `{"type":"flag.changed","arguments":{"severity":"critical"},"delivery":{"type":"poll"}}`
	if err := ReadJSON(w, r, &ask, example); err != nil {
		return err
	}
	who := gate.Credentials{}
	if r.Header["Authorization"] != nil { // a proof buys nothing here
		var err error
		if who, err = s.Payers.Credentials(r, x402.Subject{}); err != nil {
			return err
		}
	}
	made, left, err := s.Watches.Make(r.Context(), who, ask)
	if err != nil {
		return gate.ForKeysAlone(err)
	}
	setLeft(w.Header(), left)
	return WriteJSON(w, http.StatusCreated, made)
}

func (s watches) remove(w http.ResponseWriter, r *http.Request, c gate.Caller) error {
	if err := s.Watches.Remove(r.Context(), c, r.PathValue("watchId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s watches) test(w http.ResponseWriter, r *http.Request, c gate.Caller) error {
	if err := s.Watches.Test(r.Context(), c, r.PathValue("watchId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s watches) events(w http.ResponseWriter, r *http.Request, c gate.Caller) error {
	query, err := Parameters(r, "cursor")
	if err != nil {
		return err
	}
	page, err := s.Watches.Events(r.Context(), c, r.PathValue("watchId"), query.Get("cursor"))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, page)
}
