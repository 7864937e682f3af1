// Package web is the HTTP transport: routes, parameters, envelopes, headers.
//
// A handler decodes, makes the free checks, asks daemon/gate for admission, lets daemon/reader answer and writes; it decides
// nothing else. Every route stands in one table, errors are rendered by one function, and causes that are not the caller's go
// to the log with the request id instead of to the caller.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Reader answers operations; *reader.Reader is one.
type Reader interface {
	Canonical(q api.Query) string
	Ready(q api.Query) (reader.View, error)
	Answer(ctx context.Context, v reader.View, window time.Duration) (reader.Answer, error)
	Deliverable(ctx context.Context, v reader.View, window time.Duration) error
	History(ctx context.Context, v reader.View, window time.Duration) (*reader.Lines, error)
	Tables(pack string, everywhere bool, window time.Duration) (api.QueryTables, error)
	Again(ctx context.Context, pack string, sold []byte) error
	Notices(pack string) []string
}

// Proofs knows the leaves that prove answers that were given before; *reader.Reader is one.
type Proofs interface {
	ProofOf(ctx context.Context, q api.Query, text []byte) api.Proof
}

// Gate admits callers; *gate.Gate is one.
type Gate interface {
	gate.Admission
	Ended(c gate.Caller) <-chan struct{}
	HasCredits(ctx context.Context, c gate.Caller) (bool, error)
}

// Config is what a Server needs.
type Config struct {
	Reader    Reader
	Proofs    Proofs // nil means that none are told of answers that were given before
	Gate      Gate
	Streams   Streams                         // nil means that nothing can be subscribed to
	Payers    *Payers                         // nil means some that trust no proxy
	Standard  Standard                        // what is said to clients of standard x402
	Ready     func(ctx context.Context) error // why the daemon is not ready, nil when it is; nil means always ready
	More      Routes                          // beside those of the package
	Crowd     *Crowd                          // of who has no key; nil bounds nothing
	Snapshots SnapshotCache                   // who may keep snapshots; "" means SnapshotsPublic
	HTTPS     bool                            // users come by HTTPS, and browsers are told to keep to it
	Version   string                          // told to clients, "" for none
	Demo      bool                            // answers are made from recorded data, and say so
	Now       func() time.Time                // nil means time.Now
	Logger    *slog.Logger                    // nil means slog.Default
	Outage    func(error) bool                // reports whether a failure is part of an outage, which it logs once; nil means never
}

// Server answers HTTP. Make one with New; it is safe for concurrent use.
type Server struct {
	cfg       Config
	table     Routes
	mux       *http.ServeMux
	catalogue func() (catalogue, error)

	always, open, live, immutable, stream, lines lines // headers of all, of /v1, of answers that age, of snapshots, of streams, of history
	proven                                       atomic.Pointer[proofLine]

	places     Places
	heads      *Limiter // of answers that are described and cost nothing, per client
	stats      StreamStats
	stopping   <-chan struct{} // closed when streams have to end
	endStreams func()
}

// New makes the Server of the public address.
func New(cfg Config) *Server {
	return NewAt(cfg, (*Server).routes)
}

// NewAt makes a Server of a route table.
func NewAt(cfg Config, routes func(s *Server) Routes) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Payers == nil {
		cfg.Payers = NewPayers(nil, cfg.Now)
	}
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), catalogue: newCatalogue(),
		always: always(cfg), open: openHeaders(), live: liveHeaders(), immutable: immutableHeaders(cfg.Snapshots.control()),
		stream: streamHeaders(), lines: linesHeaders(), heads: NewLimiter(maxHeads, time.Minute/maxHeads, cfg.Now),
	}
	s.stopping, s.endStreams = stopper()
	s.table = routes(s)
	s.table.Add(cfg.More)
	if cfg.Streams != nil {
		s.table[api.PathSubscribe] = map[string]Handler{http.MethodGet: s.subscribe}
	}
	if cfg.Standard.Exact != nil {
		s.table[api.PathPurchase] = map[string]Handler{http.MethodPost: s.sellCredits}
	}
	for path, methods := range s.table {
		s.mux.Handle(path, s.dispatch(methods))
	}
	return s
}

// maxHeads is how many answers, or tables, a client may have described in a minute: each is work, and costs nothing.
const maxHeads = 60

// hsts tells browsers to use HTTPS alone for a year.
const hsts = "max-age=31536000"

// errPanicked is what a call that panicked failed with.
var errPanicked = errors.New("handler panicked")

// Handler answers a request or returns the error to answer with.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Routes are handlers by path, a pattern of http.ServeMux without a method, and by method.
type Routes map[string]map[string]Handler

// Add adds more to r. A path that r has already is a mistake of the program, as it is for http.ServeMux, and panics.
func (r Routes) Add(more Routes) {
	for path, methods := range more {
		if r[path] != nil {
			panic("route " + path + " is there twice")
		}
		r[path] = methods
	}
}

// routes is every route of the service: path, method, handler. HEAD goes to the handler of GET.
func (s *Server) routes() Routes {
	routes := Routes{
		api.PathHealth: {http.MethodGet: s.health},
		api.PathReady:  {http.MethodGet: s.ready},
		"/":            {},
	}
	for _, op := range api.Ops() {
		switch op {
		case api.OpSubscribe: // a stream, which is added where there are some
		case api.OpHistory:
			routes[op.Path()] = map[string]Handler{http.MethodGet: s.history}
		default:
			routes[op.Path()] = map[string]Handler{http.MethodGet: s.operation(op)}
		}
	}
	for _, op := range [...]api.Op{api.OpCite, api.OpQuery, api.OpCheck} {
		routes[op.Path()][http.MethodPost] = s.operation(op)
	}
	return routes
}

// Routes are the methods and paths that s answers, such as "GET /v1/fresh", sorted.
func (s *Server) Routes() []string {
	var list []string
	for path, methods := range s.table {
		for method := range methods {
			list = append(list, method+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

// ServeHTTP answers r.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r)
	h := w.Header()
	h[api.HeaderRequestID] = []string{id}
	s.always.set(h)
	defer func() {
		if cause := recover(); cause != nil {
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.cfg.Logger.Error("handler panicked", "request_id", id, "method", r.Method, "path", r.URL.Path, "panic", cause,
				"stack", string(debug.Stack()))
			s.fail(w, r, api.AsError(errPanicked))
		}
	}()
	s.mux.ServeHTTP(w, r)
}

// operation answers an operation over HTTP.
func (s *Server) operation(op api.Op) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost && r.ContentLength <= api.MaxBodyBytes { // a longer one is refused unread
			if err := s.cfg.Crowd.Take(r, CostOfBody(r.ContentLength)); err != nil {
				return err
			}
		}
		q, former, err := parse(op, w, r)
		if err != nil {
			return s.probed(w, r, op, err)
		}
		if q.Describe {
			return s.describe(w, r, q)
		}
		who, err := s.cfg.Payers.Credentials(r, subject(r, op, s.cfg.Reader.Canonical(q), former))
		o, unready := OrderOf(s.cfg.Reader, q)
		if unready != nil && (err != nil || !who.Presented()) { // with a proof the answer may be one that is kept
			return unready
		}
		if err != nil {
			s.writeStandard(w, r, who, nil, err)
			return err
		}
		if _, sells := s.cfg.Gate.Anonymous(); sells && !who.HasBearer && !who.Presented() { // who is told first whether there is an answer
			if err := s.cfg.Crowd.Take(r, o.Cost); err != nil {
				return err
			}
		}
		o.Credentials, o.Text, o.Free = who, s.text, r.Method == http.MethodHead
		if o.Free {
			if err := s.heads.AllowAll(s.cfg.Payers.Trusted.ClientsOf(r)...); err != nil {
				return err
			}
		}
		served, err := gate.Serve(r.Context(), s.cfg.Gate, o)
		if err != nil || served.Answer.Nothing {
			err = s.cfg.Payers.Missed(s.cfg.Payers.Trusted.ClientsOf(r), served, err)
		}
		if err == nil {
			served = Proven(r.Context(), s.cfg.Proofs, q, served)
		}
		s.writeStandard(w, r, who, served.Caller.Payment, err)
		if err != nil {
			return err
		}
		s.write(w, r, op, served)
		return nil
	}
}

// describe answers with the tables that q, a query, could be asked of. It is free; with a key they are those that it may read.
func (s *Server) describe(w http.ResponseWriter, r *http.Request, q api.Query) (err error) {
	if err := s.heads.AllowAll(s.cfg.Payers.Trusted.ClientsOf(r)...); err != nil {
		return err
	}
	if err := s.cfg.Crowd.Take(r, CostOf(q)); err != nil {
		return err
	}
	caller := gate.Caller{AllPacks: true}
	caller.Snapshot, _ = s.cfg.Gate.Anonymous()
	if r.Header.Get("Authorization") != "" {
		who, err := s.cfg.Payers.Credentials(r, x402.Subject{})
		if err != nil {
			return err
		}
		if caller, err = s.cfg.Gate.Admit(r.Context(), who, q.Op, q.Pack); err != nil {
			return err
		}
	}
	tables, err := s.cfg.Reader.Tables(q.Pack, caller.AllPacks, caller.Snapshot)
	if err != nil {
		return err
	}
	s.live.set(w.Header())
	return WriteJSON(w, http.StatusOK, tables)
}

// OrderOf is the order of q, as far as it is the same on every transport, and why there is no answer to it now, which the order says too.
func OrderOf(read Reader, q api.Query) (o gate.Order[reader.Answer], unready error) {
	view, unready := read.Ready(q)
	return gate.Order[reader.Answer]{
		Op: q.Op, Pack: q.Pack, Cost: CostOf(q), First: q.Op == api.OpBrief, // an owner's prompt has a language model asked
		Check: func(ctx context.Context, caller gate.Caller) error {
			if unready != nil {
				return unready
			}
			return read.Deliverable(ctx, view.Everywhere(caller.AllPacks).AsOf(caller.AsOf), caller.Snapshot)
		},
		Answer: func(ctx context.Context, caller gate.Caller) (reader.Answer, error) {
			if unready != nil {
				return reader.Answer{}, unready
			}
			view := view.By(caller.OwnerID, caller.Tier).Everywhere(caller.AllPacks).AsOf(caller.AsOf)
			return read.Answer(ctx, view, caller.Snapshot)
		},
		Again:   func(ctx context.Context, sold []byte) error { return read.Again(ctx, q.Pack, sold) },
		Notices: read.Notices(q.Pack),
		None:    func(a reader.Answer) bool { return a.Nothing },
	}, unready
}

// health says that the process answers.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says whether the daemon can answer calls. Why it cannot is in the log.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(r.Context()); err != nil {
			s.cfg.Logger.Debug("not ready", "error", err)
			return WriteJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready"})
		}
	}
	return WriteJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}
