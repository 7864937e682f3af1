package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/sdk/api"
)

// errLeft says that the request that a call came with is answered already.
var errLeft = errors.New("the request has ended")

// receive stands before the SDK's server: here calls are what the SDK has read. It gives tools their other names, charges what is
// subscribed to, notes sessions and sees to it that every error has a code.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		rq := s.requestOf(req)
		if rq == nil {
			if strings.HasPrefix(method, "notifications/") {
				return next(ctx, method, req)
			}
			return nil, s.wireError(nil, method, errLeft)
		}
		res, err := s.dispatch(ctx, rq, method, req, next)
		if err != nil {
			return nil, s.wireError(rq, method, err)
		}
		setReceipt(res, rq.receipt)
		return s.advertise(res), nil
	}
}

func (s *Server) dispatch(ctx context.Context, rq *request, method string, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	if method == methodInitialize && initialized(rq, req) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is initialized already"}
	}
	switch req := req.(type) {
	case *sdk.CallToolRequest:
		if op, ok := toolOp(s.cfg.Prefix, req.Params.Name); ok {
			req.Params.Name = toolName(s.cfg.Prefix, op)
		}
	case *sdk.ListToolsRequest:
		return s.list(ctx, rq, method, req, next)
	case *sdk.ReadResourceRequest:
		return s.readAs(ctx, method, req, next)
	case *sdk.SubscribeRequest:
		if !rq.session {
			return nil, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidRequest, Message: "updates come on the stream of a session: initialize one first",
			}
		} else if err := s.subscribe(rq, req.Params.URI); err != nil {
			return nil, err
		}
	case *sdk.SubscriptionsListenRequest:
		if err := s.listen(rq, req.Params.Notifications); err != nil {
			return nil, err
		}
	}
	res, err := next(ctx, method, req)
	if err == nil && rq.events { // the SDK ends at once where it knows of nothing that is listened to
		<-rq.ctx.Done()
	}
	if err == nil && method == methodInitialize && rq.session {
		s.note(rq, req)
	}
	s.introduce(res)
	return res, err
}

// introduce says in res, if it is the place for that, what the server is for.
func (s *Server) introduce(res sdk.Result) {
	switch res := res.(type) {
	case *sdk.InitializeResult:
		if res != nil {
			res.Instructions = s.instructions()
		}
	case *sdk.DiscoverResult:
		if res != nil {
			res.Instructions = s.instructions()
			if s.cfg.Standard.Exact != nil && res.Capabilities != nil { // the SDK's are for all eras
				capabilities := *res.Capabilities
				capabilities.Extensions = maps.Clone(capabilities.Extensions)
				capabilities.AddExtension(extensionPayment, nil)
				res.Capabilities = &capabilities
			}
		}
	}
}

// initialized reports whether req is in a session that has had its initialize.
func initialized(rq *request, req sdk.Request) bool {
	session, ok := req.GetSession().(*sdk.ServerSession)
	return ok && rq.session && session.InitializeParams() != nil
}

func (s *Server) note(rq *request, req sdk.Request) {
	if session, ok := req.GetSession().(*sdk.ServerSession); ok {
		s.table.Add(rq.caller, session, rq.ended)
	}
}

// list lists the tools, by the names for clients that refuse dots if those were asked for.
func (s *Server) list(ctx context.Context, rq *request, method string, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	res, err := next(ctx, method, req)
	list, ok := res.(*sdk.ListToolsResult)
	if err != nil || !ok || !rq.underscore {
		return res, err
	}
	named := *list
	named.Tools = nil
	for _, t := range list.Tools {
		renamed := *t
		if op, ok := toolOp(s.cfg.Prefix, t.Name); ok {
			renamed.Name = toolAlias(s.cfg.Prefix, op)
		}
		named.Tools = append(named.Tools, &renamed)
	}
	return &named, nil
}

// listen charges what is subscribed to without a session. What cannot be paid for is left out, and the client is told what it gets.
func (s *Server) listen(rq *request, n *sdk.NotificationSubscriptions) error {
	if rq.session { // in which it would never end; what a session subscribes to is told on its stream
		return &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + methodListen + " in a session: call " + methodSubscribe,
		}
	}
	if n == nil {
		return nil // the SDK has the words for that
	}
	var paid []string
	seen := map[string]bool{}
	for _, uri := range n.ResourceSubscriptions {
		if seen[uri] {
			continue
		}
		seen[uri] = true
		if err := s.subscribe(rq, uri); err == nil {
			paid = append(paid, uri)
		} else if len(n.ResourceSubscriptions) == 1 {
			return err
		}
	}
	if len(n.ResourceSubscriptions) > 0 && len(paid) == 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "nothing of this can be subscribed to"}
	}
	n.ResourceSubscriptions = paid
	return nil
}

// subscribe charges a subscription to a resource as the operation of that name.
func (s *Server) subscribe(rq *request, uri string) error {
	r, ok := s.parseURI(uri)
	if !ok || !r.live {
		return sdk.ResourceNotFoundError(uri)
	}
	r.query.Op = api.OpSubscribe
	watch, _, err := s.open(rq, r.query, nil)
	if err != nil {
		return s.refusedRead(rq, err)
	}
	watch.Close()
	return nil
}

// subscribable reports a resource that nobody can subscribe to. What can was charged before.
func (s *Server) subscribable(_ context.Context, req *sdk.SubscribeRequest) error {
	if r, ok := s.parseURI(req.Params.URI); !ok || !r.live {
		return fmt.Errorf("subscribe: %w", sdk.ResourceNotFoundError(req.Params.URI))
	}
	return nil
}
