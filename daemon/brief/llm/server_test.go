package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/sdk/api"
)

// secret is the key of all tests.
const secret = "sk-very-secret-1234"

// request is what a server was asked.
type request struct {
	Path   string
	Header http.Header
	Body   struct {
		Model     string
		MaxTokens *int64 `json:"max_tokens"`
		MaxOther  *int64 `json:"max_completion_tokens"`
		Options   *struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Temperature *float64
		Stream      bool
		System      []struct{ Text string }
		Messages    []struct {
			Role    string
			Content json.RawMessage
		}
	}
}

// said is the text of the n-th message.
func (r request) said(t testing.TB, n int) string {
	t.Helper()
	var text string
	var blocks []struct{ Text string }
	if json.Unmarshal(r.Body.Messages[n].Content, &text) == nil {
		return text
	}
	if err := json.Unmarshal(r.Body.Messages[n].Content, &blocks); err != nil || len(blocks) != 1 {
		t.Fatalf("content %s: %v", r.Body.Messages[n].Content, err)
	}
	return blocks[0].Text
}

// server is a model server that answers with one script after the other, the last for ever.
type server struct {
	*httptest.Server
	mu       sync.Mutex // guards what follows
	scripts  []script
	requests []request
}

// script answers one request.
type script func(w http.ResponseWriter, r *http.Request)

// serve starts a server.
func serve(t *testing.T, scripts ...script) *server {
	t.Helper()
	s := &server{scripts: scripts}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP notes r and follows the next script.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := request{Path: r.URL.Path, Header: r.Header}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req.Body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	next := s.scripts[0]
	if len(s.scripts) > 1 {
		s.scripts = s.scripts[1:]
	}
	s.mu.Unlock()
	next(w, r)
}

// asked is what was asked until now.
func (s *server) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

// dialect is how one provider speaks.
type dialect struct {
	provider llm.Provider
	base     string // of the path
	path     string
	// says streams text in pieces, then the end that reason stands for.
	says func(reason string, pieces ...string) script
	// dies streams a piece and then what is not one.
	dies                 func(piece, rest string) script
	end, length, refusal string
}

// dialects are those of both providers.
func dialects() []dialect {
	return []dialect{
		{llm.Anthropic, "", "/v1/messages", sayMessages, dieMessages, "end_turn", "max_tokens", "refusal"},
		{llm.OpenAI, "/v1", "/v1/chat/completions", sayChat, dieChat, "stop", "length", "content_filter"},
	}
}

// each runs test for both providers.
func each(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d.provider), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// event writes one event and sends it.
func event(w http.ResponseWriter, name, data string) {
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
}

// quote is s as JSON.
func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// beginMessages streams the beginning of a message, and text.
func beginMessages(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	event(w, "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1200,"cache_creation_input_tokens":0,"cache_read_input_tokens":34,"output_tokens":1}}}`)
	event(w, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	event(w, "ping", `{"type": "ping"}`)
	for _, p := range pieces {
		event(w, "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(p)+`}}`)
	}
}

func sayMessages(reason string, pieces ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) {
		beginMessages(w, pieces...)
		event(w, "content_block_stop", `{"type":"content_block_stop","index":0}`)
		event(w, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+quote(reason)+`,"stop_sequence":null},"usage":{"output_tokens":321}}`)
		event(w, "message_stop", `{"type":"message_stop"}`)
	}
}

func dieMessages(piece, rest string) script {
	return func(w http.ResponseWriter, _ *http.Request) {
		beginMessages(w, piece)
		if rest != "" {
			event(w, "content_block_delta", rest)
		}
	}
}

// chunk streams a piece of a chat completion.
func chunk(w http.ResponseWriter, choices, usage string) {
	event(w, "", `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[`+choices+`],"usage":`+usage+`}`)
}

func beginChat(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk(w, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, "null")
	for _, p := range pieces {
		chunk(w, `{"index":0,"delta":{"content":`+quote(p)+`},"finish_reason":null}`, "null")
	}
}

func sayChat(reason string, pieces ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) {
		beginChat(w, pieces...)
		chunk(w, `{"index":0,"delta":{},"finish_reason":`+quote(reason)+`}`, "null")
		chunk(w, "", `{"prompt_tokens":1234,"completion_tokens":321,"total_tokens":1555}`)
		event(w, "", "[DONE]")
	}
}

func dieChat(piece, rest string) script {
	return func(w http.ResponseWriter, _ *http.Request) {
		beginChat(w, piece)
		if rest != "" {
			event(w, "", rest)
		}
	}
}

// fails answers with a status, headers and a body.
func fails(status int, body string, headers ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangs lets a begun answer hang until the client goes.
func hangs(before func(w http.ResponseWriter)) script {
	return func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before(w)
		}
		<-r.Context().Done()
	}
}

// config is that of a writer who asks s.
func config(d dialect, s *server) llm.Config {
	return llm.Config{Provider: d.provider, Model: "m-1", BaseURL: s.URL + d.base, Key: secret, Retries: 2,
		Prices: llm.Prices{Input: 3_000_000, Output: 15_000_000}, Transport: s.Client().Transport, Now: time.Now}
}

// writer makes a writer.
func writer(t *testing.T, cfg llm.Config) *llm.Writer {
	t.Helper()
	w, err := llm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// input is the recorded state of the crypto pack.
func input(t *testing.T) brief.Input {
	t.Helper()
	state, err := os.ReadFile(filepath.Join("..", "testdata", "tick3.json"))
	if err != nil {
		t.Fatal(err)
	}
	in := brief.Input{Pack: api.PackCrypto, State: read(state)}
	for i := range 17 {
		in.Citations = append(in.Citations, api.Citation{Ref: i + 1, SourceID: fmt.Sprintf("source-%d", i+1), URL: "https://source.test/x"})
	}
	return in
}

// lacks fails where text has a part that it must not have.
func lacks(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%s has %q: %s", what, p, text)
		}
	}
}

// contextOf is the context of t, to be ended earlier.
func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}
