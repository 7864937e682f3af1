// Package llm writes briefs with language models: Anthropic Messages, and whatever speaks the chat completions of OpenAI (Ollama,
// vLLM, llama.cpp and others).
//
// A Writer gives the model the state as data and returns what it says. It decides nothing: daemon/brief checks the text, asks once
// for a better one and else takes the next writer. A Writer keeps to a budget per day, and returns soon after its context is done,
// whatever the other side does. It takes its configuration from its Config alone, never from the environment, and its key goes to the
// configured address and nowhere else: not into an error, not to where a redirect points.
//
// A brief is one request, whose answer comes as a stream of events so that a model that is cut off has still been counted. A chat
// goes like this, with the texts and what nobody reads shortened to three dots:
//
//	POST /v1/chat/completions
//	Authorization: Bearer KEY
//
//	{"model":"m","messages":[{"role":"system","content":"You write …"},{"role":"user","content":"<sources>…"}],
//	 "temperature":0,"max_tokens":4000,"stream":true,"stream_options":{"include_usage":true}}
//
//	200 OK
//
//	data: {"choices":[{"delta":{"content":"Bitcoin trades at "},"finish_reason":null}],…}
//
//	data: {"choices":[{"delta":{"content":"$91,286 [1]."},"finish_reason":null}],…}
//
//	data: {"choices":[{"delta":{},"finish_reason":"stop"}],…}
//
//	data: {"choices":[],"usage":{"prompt_tokens":1234,"completion_tokens":321},…}
//
//	data: [DONE]
//
// The same as Messages, where the rules stand apart from the talk and each event says its type:
//
//	POST /v1/messages
//	Anthropic-Version: 2023-06-01
//	X-Api-Key: KEY
//
//	{"model":"m","max_tokens":4000,"temperature":0,"stream":true,"system":[{"type":"text","text":"You write …"}],
//	 "messages":[{"role":"user","content":[{"type":"text","text":"<sources>…"}]}]}
//
//	200 OK
//
//	data: {"type":"message_start","message":{"usage":{"input_tokens":1234,"output_tokens":1},…}}
//
//	data: {"type":"content_block_delta","delta":{"text":"Bitcoin trades at ",…},…}
//
//	data: {"type":"content_block_delta","delta":{"text":"$91,286 [1].",…},…}
//
//	data: {"type":"message_delta","delta":{"stop_reason":"end_turn",…},"usage":{"output_tokens":321}}
//
//	data: {"type":"message_stop"}
//
// A model that takes one of the parameters no more answers 400 and names it; it is asked again without.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/human"
)

// Provider is how a model is spoken to.
type Provider string

// The providers.
const (
	Anthropic Provider = "anthropic" // the Messages API
	OpenAI    Provider = "openai"    // chat completions, of OpenAI or compatible
)

// Defaults of a Config.
const (
	DefaultMaxTokens = 4_000
	DefaultRetries   = 2
	DefaultTokens    = 1_000_000 // of Limit
)

// Config says which model writes and what it may take.
type Config struct {
	Provider  Provider
	Model     string
	BaseURL   string // "" means that of the provider itself
	Key       string // "" where the server asks for none
	MaxTokens int64  // of one answer; 0 means DefaultMaxTokens
	Retries   int    // of a call after 408, 409, 429, 5xx or a broken connection
	Limit     brief.Limit
	Prices    Prices

	Ledger    Ledger            // nil means that nothing is kept and nothing limited
	Transport http.RoundTripper // nil means http.DefaultTransport
	Now       func() time.Time  // nil means time.Now
}

// Writer writes with one model. Make one with New; it is safe for concurrent use.
type Writer struct {
	cfg   Config
	model model
}

var (
	_ brief.Writer   = (*Writer)(nil)
	_ brief.Repairer = (*Writer)(nil)
)

// reply is what a model said, and what it said that it took.
type reply struct {
	text  string
	usage brief.Usage // tokens only; zero where the server did not tell
	whole bool        // it came to its end, whatever that was
}

type model interface {
	// ask goes on with talk. With an error, the reply is what came before it.
	ask(ctx context.Context, talk []message) (reply, error)
}

// New makes a Writer, or says what is wrong with cfg.
func New(cfg Config) (*Writer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, DefaultMaxTokens)
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	base, open := "", newAnthropic
	switch cfg.Provider {
	case Anthropic:
		base = "https://api.anthropic.com/"
	case OpenAI:
		base, open = "https://api.openai.com/v1/", newOpenAI
	default:
		return nil, fmt.Errorf("provider %q is not %s or %s", cfg.Provider, Anthropic, OpenAI)
	}
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, base), "/") + "/"
	return &Writer{cfg: cfg, model: open(cfg)}, nil
}

func (cfg Config) check() error {
	if cfg.Model == "" {
		return errors.New("a model is missing")
	}
	if min(cfg.MaxTokens, int64(cfg.Retries), cfg.Limit.Tokens, cfg.Limit.CostMicros, cfg.Prices.Input, cfg.Prices.Output) < 0 {
		return errors.New("limits, prices and retries cannot be negative")
	}
	if cfg.Limit.CostMicros > 0 && cfg.Prices == (Prices{}) {
		return errors.New("a limit on the cost needs the prices of the model")
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the key is not one word of ASCII")
	}
	if cfg.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the base URL is not like http://127.0.0.1:11434/v1, without a user, a query or a fragment")
	}
	return nil
}

// Name implements brief.Writer: provider and model.
func (w *Writer) Name() string { return string(w.cfg.Provider) + "/" + w.cfg.Model }

// Write implements brief.Writer.
func (w *Writer) Write(ctx context.Context, in brief.Input) (brief.Draft, error) {
	ask, err := first(in)
	if err != nil {
		return brief.Draft{}, err
	}
	return w.ask(ctx, in, []message{ask})
}

// Repair implements brief.Repairer.
func (w *Writer) Repair(ctx context.Context, in brief.Input, refused *brief.Refusal) (brief.Draft, error) {
	ask, err := first(in)
	if err != nil {
		return brief.Draft{}, err
	}
	again, err := repair(refused.Findings)
	if err != nil {
		return brief.Draft{}, err
	}
	return w.ask(ctx, in, []message{ask, {model: true, text: refused.Text}, again})
}

// ask asks the model within the budget.
func (w *Writer) ask(ctx context.Context, in brief.Input, talk []message) (brief.Draft, error) {
	most, day, err := w.reserve(ctx, in, talk)
	if err != nil {
		return brief.Draft{}, err
	}
	said, err := w.model.ask(ctx, talk)
	used := w.cfg.Prices.cost(w.used(said, most, err))
	draft := brief.Draft{Text: tidy(said.text), Usage: used}
	if err != nil {
		err = &failure{text: w.redact(err.Error()), cause: err}
	} else if draft.Text == "" {
		err = errors.New("the model wrote nothing")
	}
	return draft, errors.Join(err, w.reconcile(ctx, day, in, most, used))
}

// used is what a call took: what the server told, nothing where it refused to begin, and else the most that it can have been.
func (w *Writer) used(said reply, most brief.Usage, err error) brief.Usage {
	if err != nil && free(err) {
		return brief.Usage{}
	}
	told := said.usage
	if told.InputTokens == 0 {
		told.InputTokens = most.InputTokens
	}
	switch {
	case !said.whole: // it may have thought and written all that it might
		told.OutputTokens = max(told.OutputTokens, most.OutputTokens)
	case told.OutputTokens == 0:
		told.OutputTokens = int64(len(said.text) / bytesPerToken)
	}
	return told
}

// maxReason is how many characters of a server's error are passed on.
const maxReason = 300

// redact makes what a server said of a failure fit for a log: short, on one line and without the key.
func (w *Writer) redact(text string) string {
	if w.cfg.Key != "" {
		text = strings.ReplaceAll(text, w.cfg.Key, "[key]")
	}
	return human.Label(text, maxReason)
}

// failure is an error whose text is safe. Its cause is for errors.Is.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string        { return f.text }
func (f *failure) Is(target error) bool { return errors.Is(f.cause, target) }

var thought = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)

// tidy takes off what models put around a text: their thoughts, and a fence.
func tidy(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.TrimSpace(thought.ReplaceAllString(text, ""))
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		if _, rest, ok := strings.Cut(inner, "\n"); ok {
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
		}
	}
	return text
}
