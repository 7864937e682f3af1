package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/output"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// maxMessage bounds a line of stdin.
const maxMessage = 1 << 20

// newStdio makes the command that is a bridge.
func newStdio(a *App) *cobra.Command {
	names := "underscore"
	c := a.Command(&cobra.Command{
		Use: "stdio", Short: "Be an MCP server on stdin and stdout, for clients on this machine",
		Long: "Be an MCP server on stdin and stdout, for clients on this machine. What a client says is passed on to the service with the key of\n" +
			"the profile, or paid from the wallet within its bounds (--pay). A session that has ended, because the service was started\n" +
			"again, is opened anew without the client's noticing. Tools are listed as context_fresh and so on: some clients refuse dots.",
		Example: "  ctx mcp config --client claude    what to put into Claude's settings\n  ctx mcp stdio --profile agent",
	}, nil, func(ctx context.Context, _ []string) error {
		if names != "underscore" && names != "dots" {
			return Invalid("--names is %q, not underscore or dots", names)
		}
		if names == "dots" {
			names = ""
		}
		e, err := newEndpoint(a, names)
		if err != nil {
			return err
		}
		b := &bridge{app: a, endpoint: e, out: a.Out, under: map[string]underWay{}, uris: map[string]bool{}}
		return b.run(ctx, a.In)
	})
	c.Flags().StringVar(&names, "names", names, "how tools are listed: `underscore` or dots")
	return c
}

// bridge passes messages between a client on stdin and a service.
type bridge struct {
	app      *App
	endpoint *endpoint
	calls    sync.WaitGroup // under way

	writing sync.Mutex // guards out, and notes on stderr
	out     io.Writer

	mu      sync.Mutex          // guards what follows
	under   map[string]underWay // calls, by id
	session mcpSession          // zero without
	uris    map[string]bool     // what the client has subscribed to in the session

	opening sync.Mutex // one opens the session at a time
}

// underWay is a call that is not answered yet.
type underWay struct {
	method string
	cancel context.CancelFunc
}

// mcpSession is a mcpSession of the service.
type mcpSession struct {
	id, version string
	hello       []byte // the initialize that opened it
}

// run passes messages until the client ends its side, and waits for the answers under way, but for those that come when the client leaves.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	var stream sync.WaitGroup
	defer stream.Wait()
	defer cancel()
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() { failed <- read(ctx, in, lines) }() // a read of stdin cannot be ended; with the program it is
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			b.hangUp()
			b.calls.Wait()
			b.leave(ctx)
			return err
		case line := <-lines:
			b.take(ctx, line, &stream)
		}
	}
}

// read reads lines.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxMessage)
	for scan.Scan() {
		if line := bytes.TrimSpace(scan.Bytes()); len(line) > 0 {
			select {
			case lines <- bytes.Clone(line):
			case <-ctx.Done():
				return nil
			}
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	return nil
}

// take passes one message on. Calls run beside each other; what has to come in order does.
func (b *bridge) take(ctx context.Context, line []byte, stream *sync.WaitGroup) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		b.write(failed(nil, codeParse, "the line is no JSON-RPC message", nil))
		return
	}
	switch {
	case m.Method == methodInitialize:
		b.pass(ctx, m, line)
		if b.current().id != "" {
			stream.Go(func() { b.listen(ctx) })
		}
	case m.isCall():
		calling, cancel := context.WithCancel(ctx)
		b.mu.Lock()
		b.under[string(m.ID)] = underWay{m.Method, cancel}
		b.mu.Unlock()
		b.calls.Go(func() {
			defer b.done(m)
			b.pass(calling, m, line)
		})
	case m.Method == "notifications/cancelled" && b.current().id == "":
		b.mu.Lock()
		if call, ok := b.under[string(m.Params.RequestID)]; ok {
			call.cancel() // without a session, a call is cancelled by leaving
		}
		b.mu.Unlock()
	default:
		b.pass(ctx, m, line)
	}
}

// done forgets the call m.
func (b *bridge) done(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if call, ok := b.under[string(m.ID)]; ok {
		call.cancel()
	}
	delete(b.under, string(m.ID))
}

// hangUp cancels the calls that last as long as the client listens.
func (b *bridge) hangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, call := range b.under {
		if call.method == methodListen {
			call.cancel()
		}
	}
}

// current is the session.
func (b *bridge) current() mcpSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session
}

// pass sends a message to the service and its answer to the client.
func (b *bridge) pass(ctx context.Context, m message, line []byte) {
	err := b.forward(ctx, m, line)
	switch {
	case err == nil || ctx.Err() != nil:
	case m.isCall():
		b.write(failedWith(m.ID, err))
	default:
		b.note("%s was not delivered: %v", m.Method, err)
	}
}

// write writes one message to the client.
func (b *bridge) write(text []byte) {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(append(bytes.TrimSpace(text), '\n')) // a client that has gone ends stdin too
}

// note tells people something on stderr.
func (b *bridge) note(format string, args ...any) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.app.Note("%s", human.Line(fmt.Sprintf(format, args...)))
}

// Codes of JSON-RPC errors.
const (
	codeParse   = -32700
	codeRefused = -32000 // the service refuses, and says why in the data
)

// failed is the answer that a call has failed.
func failed(id json.RawMessage, code int, message string, data any) []byte {
	type wire struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	text, _ := output.Marshal(struct { // texts can always be written
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wire            `json:"error"`
	}{"2.0", id, wire{code, message, data}})
	return text
}

// failedWith is the answer that a call has failed with err.
func failedWith(id json.RawMessage, err error) []byte {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return failed(id, codeRefused, err.Error(), nil)
	}
	message := fmt.Sprintf("%d %s", e.Status, err)
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	return failed(id, codeRefused, message, api.ErrorBody{Error: e, Payment: e.Payment})
}
