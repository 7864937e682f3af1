package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/daemon/brief/llm"
)

// holds is a text that passes the check.
const holds = "Bitcoin trades at $91,286, down 1.8% [1]."

func TestWrite(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, d.says(d.end, "Bitcoin trades at ", "$91,286, down 1.8% [1]."))
		w := writer(t, config(d, s))
		got, err := w.Write(t.Context(), input(t))
		// 1234 tokens for $3 and 321 for $15 a million
		want := brief.Draft{Text: holds, Usage: brief.Usage{InputTokens: 1234, OutputTokens: 321, CostMicros: 1234*3 + 321*15}}
		if err != nil || got.Text != want.Text || got.Usage != want.Usage {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if w.Name() != string(d.provider)+"/m-1" {
			t.Errorf("name %q", w.Name())
		}
		asked := s.asked()
		if len(asked) != 1 {
			t.Fatalf("%d requests", len(asked))
		}
		r := asked[0]
		if r.Path != d.path || r.Body.Model != "m-1" || !r.Body.Stream || r.Body.Temperature == nil || *r.Body.Temperature != 0 ||
			r.Body.MaxTokens == nil || *r.Body.MaxTokens != llm.DefaultMaxTokens {
			t.Errorf("request %+v", r)
		}
		key := r.Header.Get("X-Api-Key")
		system := ""
		if d.provider == llm.OpenAI {
			key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			system = r.said(t, 0)
			if r.Body.Options == nil || !r.Body.Options.Usage {
				t.Error("the tokens are not asked for")
			}
		} else {
			system = r.Body.System[0].Text
			if r.Header.Get("Anthropic-Version") == "" {
				t.Error("no version")
			}
		}
		if key != secret || !strings.HasPrefix(system, "You write the brief") {
			t.Errorf("key %q, system %q", key, system)
		}
	})
}

// TestEnvironmentIsNotRead: servers on one's own machine ask for none, and none is found in the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID"} {
		t.Setenv(name, "from-the-environment")
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1/environment/")
	}
	for _, name := range []string{"ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Environment: from-the-environment")
	}
	for _, d := range dialects() {
		s := serve(t, d.says(d.end, holds))
		cfg := config(d, s)
		cfg.Key = ""
		if _, err := writer(t, cfg).Write(t.Context(), input(t)); err != nil {
			t.Errorf("%s: %v", d.provider, err)
			continue
		}
		for name, values := range s.asked()[0].Header {
			lacks(t, name, strings.Join(values, " "), "environment")
		}
		if h := s.asked()[0].Header; h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
			t.Errorf("%s: credentials %v", d.provider, h)
		}
	}
}

// TestAnswersThatAreNone: what goes wrong is an error that says what, and is paid for as far as it went.
func TestAnswersThatAreNone(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		const began = 1234 // input tokens, where the server told
		for name, c := range map[string]struct {
			script script
			want   string
			free   bool
		}{
			"refusal":      {d.says(d.refusal, "I cannot"), "refused to write", false},
			"truncated":    {d.says(d.length, "Bitcoin trades"), "raise max_tokens", false},
			"other end":    {d.says("tool_use", "x"), `stopped because of "tool_use"`, false},
			"silent":       {d.says(d.end, " ", "\n"), "wrote nothing", false},
			"thought only": {d.says(d.end, "<think>hm", "m</think>\n"), "wrote nothing", false},
			"cut":          {d.dies("Bitcoin trades", ""), "broke off", false},
			"garbage":      {d.dies("Bitcoin trades", "{nonsense"), "broke off", false},
			"no stream": {func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>Welcome to nginx</html>")
			}, "broke off", false},
			"endless text": {func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					d.dies(strings.Repeat("Bitcoin ", 10_000), "")(w, r)
				}
			}, "", false},
			"endless line": {func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: ")
				for piece := []byte(strings.Repeat("x", 1<<20)); r.Context().Err() == nil; {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			}, "has no end", false},
			"endless error": {func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				for piece := []byte(strings.Repeat("x", 1<<20)); r.Context().Err() == nil; {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			}, "400", true},
			"key refused":   {fails(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid key `+secret+`\u001b[31m"}}`), "401 (authentication_error): invalid key [key]", true},
			"text error":    {fails(404, `{"error":"model 'm-1' not found"}`), "404: model 'm-1' not found", true},
			"no JSON error": {fails(403, "<html>Forbidden</html>"), "403: <html>Forbidden</html>", true},
			"long error":    {fails(403, strings.Repeat("no ", 10_000)), "403: no no", true},
			"bad request":   {fails(400, `{"error":{"message":"prompt is too long","type":"invalid_request_error"}}`), "400 (invalid_request_error): prompt is too long", true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := serve(t, c.script)
				got, err := writer(t, config(d, s)).Write(t.Context(), input(t))
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %+v, %v; want %q", got, err, c.want)
				}
				lacks(t, "error", err.Error(), secret, "\x1b")
				if n := len([]rune(err.Error())); n > 310 {
					t.Errorf("error of %d characters", n)
				}
				if u := got.Usage; (u == brief.Usage{}) != c.free || !c.free && (u.InputTokens < began || u.OutputTokens != 321 && u.OutputTokens != llm.DefaultMaxTokens) {
					t.Errorf("usage %+v", u)
				}
				if n := len(s.asked()); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
			})
		}
	})
}

// TestCutBeforeTheUsage: a chat that breaks off after it has said how it ended, and before what it took, is paid for as the most it can be.
func TestCutBeforeTheUsage(t *testing.T) {
	t.Parallel()
	d := dialects()[1]
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		beginChat(w, "Bitcoin trades")
		chunk(w, `{"index":0,"delta":{},"finish_reason":"stop"}`, "null")
		panic(http.ErrAbortHandler)
	})
	got, err := writer(t, config(d, s)).Write(t.Context(), input(t))
	if err == nil || !strings.Contains(err.Error(), "broke off") || got.Usage.OutputTokens != llm.DefaultMaxTokens {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestErrorInTheStream(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			d.dies("Bitcoin", "")(w, r)
			event(w, "error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded `+secret+`"}}`)
		})
		_, err := writer(t, config(d, s)).Write(t.Context(), input(t))
		if err == nil || !strings.Contains(err.Error(), "broke off") || !strings.Contains(err.Error(), "verloaded") {
			t.Fatalf("got %v", err)
		}
		lacks(t, "error", err.Error(), secret)
	})
}

// TestRetry: what passes is tried again, as often as configured, and not before the server wants.
func TestRetry(t *testing.T) {
	const soon = "Retry-After-Ms"
	each(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct {
			scripts []script
			asked   int
			want    string // "" for a text
		}{
			"limited, then well":    {[]script{fails(429, `{"error":{"message":"slow down"}}`, soon, "1"), d.says(d.end, holds)}, 2, ""},
			"Retry-After":           {[]script{fails(429, `{}`, "Retry-After", "0.001"), d.says(d.end, holds)}, 2, ""},
			"overloaded, then well": {[]script{fails(529, `{}`, soon, "1"), fails(503, `{}`, soon, "1"), d.says(d.end, holds)}, 3, ""},
			"broken for good":       {[]script{fails(500, `{"error":{"message":"oops"}}`, soon, "1")}, 3, "500: oops"},
			"refused for good":      {[]script{fails(401, `{}`, soon, "1")}, 1, "401"},
			"later than it can":     {[]script{fails(429, `{"error":{"message":"tomorrow"}}`, "Retry-After", "86400")}, 1, "429: tomorrow"},
			"at a time":             {[]script{fails(429, `{}`, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))}, 1, "429"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				s := serve(t, c.scripts...)
				got, err := writer(t, config(d, s)).Write(ctx, input(t))
				if c.want == "" && (err != nil || got.Text != holds) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %+v, %v", got, err)
				}
				if n := len(s.asked()); n != c.asked {
					t.Errorf("%d requests, want %d", n, c.asked)
				}
			})
		}
	})
}

// TestSlow: a server that hangs, before its answer or within, is given up when the time is over.
func TestSlow(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for name, s := range map[string]script{
			"before": hangs(nil),
			"within": hangs(func(w http.ResponseWriter) { d.dies("Bitcoin trades at", "")(w, nil) }),
			"dribbling": func(w http.ResponseWriter, r *http.Request) {
				d.dies("Bitcoin", "")(w, r)
				for r.Context().Err() == nil {
					_, _ = io.WriteString(w, ": still here\n\n")
					_ = http.NewResponseController(w).Flush()
					time.Sleep(time.Millisecond)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				in := input(t)
				writers := []brief.Writer{writer(t, config(d, serve(t, s))), brief.BuiltIn()}
				result, err := brief.Narrate(t.Context(), writers, in, 200*time.Millisecond)
				if err != nil || result.Writer != "built-in" || len(result.Refused) != 1 || !errors.Is(result.Refused[0].Err, context.DeadlineExceeded) {
					t.Fatalf("got %+v, %v", result, err)
				}
				if u := result.Usage; u.Tokens() == 0 {
					t.Error("what it may have taken is not counted")
				}
			})
		}
	})
}

// TestRedirect: the key goes where it was meant to go.
func TestRedirect(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		thief := serve(t, d.says(d.end, holds))
		s := serve(t, fails(307, "", "Location", thief.URL+d.path))
		_, err := writer(t, config(d, s)).Write(t.Context(), input(t))
		if err == nil || !strings.Contains(err.Error(), "redirects to "+strings.TrimPrefix(thief.URL, "http://")) {
			t.Errorf("got %v", err)
		}
		if len(thief.asked()) > 0 {
			t.Error("it was followed")
		}
	})
}

// TestNobodyThere: a server that does not run costs nothing, and its address is in the error.
func TestNobodyThere(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t)
		s.Close()
		cfg := config(d, s)
		cfg.Retries = 0
		got, err := writer(t, cfg).Write(t.Context(), input(t))
		if err == nil || got.Usage != (brief.Usage{}) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestParametersThatAreRefused: what a model does not take is left out, then and later.
func TestParametersThatAreRefused(t *testing.T) {
	t.Parallel()
	refused := func(message string) script {
		return fails(400, `{"error":{"type":"invalid_request_error","message":`+quote(message)+`}}`)
	}
	t.Run("anthropic", func(t *testing.T) {
		t.Parallel()
		d := dialects()[0]
		s := serve(t, refused("`temperature` is deprecated for this model."), d.says(d.end, holds))
		w := writer(t, config(d, s))
		for range 2 {
			if got, err := w.Write(t.Context(), input(t)); err != nil || got.Text != holds {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		asked := s.asked()
		if len(asked) != 3 || asked[0].Body.Temperature == nil || asked[1].Body.Temperature != nil || asked[2].Body.Temperature != nil {
			t.Errorf("%d requests: %+v", len(asked), asked)
		}
	})
	t.Run("openai", func(t *testing.T) {
		t.Parallel()
		d := dialects()[1]
		s := serve(t, refused("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
			refused("Unsupported value: 'temperature' does not support 0 with this model."),
			refused("Unknown field stream_options"), d.says(d.end, holds))
		w := writer(t, config(d, s))
		for range 2 {
			if got, err := w.Write(t.Context(), input(t)); err != nil || got.Text != holds {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		asked := s.asked()
		if len(asked) != 5 {
			t.Fatalf("%d requests", len(asked))
		}
		for _, r := range asked[3:] {
			if b := r.Body; b.Temperature != nil || b.MaxTokens != nil || b.Options != nil || b.MaxOther == nil || *b.MaxOther != llm.DefaultMaxTokens {
				t.Errorf("request %+v", b)
			}
		}
	})
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		for _, d := range dialects() {
			s := serve(t, refused("temperature, max_tokens and stream_options are wrong"))
			if _, err := writer(t, config(d, s)).Write(t.Context(), input(t)); err == nil {
				t.Error("no error")
			}
			if n := len(s.asked()); n > 4 {
				t.Errorf("%d requests", n)
			}
		}
	})
}

// TestRepair: the model is told once what is wrong with its text.
func TestRepair(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		const wrong = "Bitcoin trades at $92,000 [1]. Ethereum fell [99]."
		s := serve(t, d.says(d.end, wrong), d.says(d.end, holds))
		in := input(t)
		result, err := brief.Narrate(t.Context(), []brief.Writer{writer(t, config(d, s)), brief.BuiltIn()}, in, time.Minute)
		if err != nil || result.Text != holds || len(result.Refused) != 1 {
			t.Fatalf("got %+v, %v", result, err)
		}
		kinds := func(r *brief.Refusal) (list []ground.Kind) {
			for _, f := range r.Findings {
				list = append(list, f.Kind)
			}
			return list
		}
		if r := result.Refused[0]; r.Again || r.Text != wrong || !slices.Equal(kinds(r), []ground.Kind{ground.KindFigure, ground.KindAnchor}) {
			t.Errorf("refused %+v", r)
		}
		if result.Usage.InputTokens != 2*1234 {
			t.Errorf("usage %+v, want that of both texts", result.Usage)
		}
		again := s.asked()[1]
		n := len(again.Body.Messages)
		if again.said(t, n-2) != wrong || again.Body.Messages[n-2].Role != "assistant" || again.said(t, n-3) != s.asked()[0].said(t, n-3) {
			t.Errorf("the second request does not go on with the first")
		}
		for _, part := range []string{"$92,000", "[99]", "the pack has 17 sources"} {
			if !strings.Contains(again.said(t, n-1), part) {
				t.Errorf("findings lack %q: %s", part, again.said(t, n-1))
			}
		}
	})
}

// TestOneRepairOnly: after the second wrong text the built-in writer writes, and both reasons are told.
func TestOneRepairOnly(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		s := serve(t, d.says(d.end, "Bitcoin trades at $92,000 [1]."), d.says(d.end, "Bitcoin trades at $93,000 [1]. See https://evil.example/ [1]."))
		w := writer(t, config(d, s))
		result, err := brief.Narrate(t.Context(), []brief.Writer{w, brief.BuiltIn()}, input(t), time.Minute)
		if err != nil || result.Writer != "built-in" || len(s.asked()) != 2 {
			t.Fatalf("%d requests, got %+v, %v", len(s.asked()), result, err)
		}
		reasons := result.Reasons()
		if len(reasons) != 2 || !strings.HasPrefix(reasons[0], w.Name()+": figure \"$92,000\"") || !strings.HasPrefix(reasons[1], w.Name()+", second text: link") {
			t.Errorf("reasons %q", reasons)
		}
	})
}

// TestTidy: what models put around a text is no reason to refuse it.
func TestTidy(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for _, text := range []string{"\n" + holds + "\n\n", "<think>\nBTC… [7]\n</think>\n\n" + holds, "```text\n" + holds + "\n```", "```\r\n" + holds + "\r\n```\r\n"} {
			s := serve(t, d.says(d.end, text))
			if got, err := writer(t, config(d, s)).Write(t.Context(), input(t)); err != nil || got.Text != holds {
				t.Errorf("%q becomes %q, %v", text, got.Text, err)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := llm.Config{Provider: llm.OpenAI, Model: "m"}
	for want, change := range map[string]func(*llm.Config){
		"":                  func(*llm.Config) {},
		"provider \"x\"":    func(c *llm.Config) { c.Provider = "x" },
		"a model":           func(c *llm.Config) { c.Model = "" },
		"negative":          func(c *llm.Config) { c.Retries = -1 },
		"cannot be neg":     func(c *llm.Config) { c.Prices.Output = -1 },
		"needs the prices":  func(c *llm.Config) { c.Limit.CostMicros = 1 },
		"one word":          func(c *llm.Config) { c.Key = "a\nb" },
		"base URL is not":   func(c *llm.Config) { c.BaseURL = "localhost:11434" },
		"without a user":    func(c *llm.Config) { c.BaseURL = "http://u:" + secret + "@localhost/" },
		"a query or a frag": func(c *llm.Config) { c.BaseURL = "http://localhost/?key=" + secret },
	} {
		cfg := good
		change(&cfg)
		_, err := llm.New(cfg)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if err != nil {
			lacks(t, "error", err.Error(), secret)
		}
	}
}
