package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/contextd/contextd/daemon/brief"
)

// chat is a model that is spoken to by chat completions, as OpenAI and many servers know them.
type chat struct {
	client client
	model  string
	most   int64 // tokens of an answer

	mu      sync.Mutex // guards refused
	refused dialect
}

// dialect is which parameters a server or a model does not take.
type dialect struct{ temperature, maxTokens, usage bool }

type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Temperature         *int          `json:"temperature,omitempty"`
	MaxTokens           int64         `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64         `json:"max_completion_tokens,omitempty"` // the newer name of the same
	Stream              bool          `json:"stream"`
	StreamOptions       *chatOptions  `json:"stream_options,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatChunk struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"usage"`
}

func newOpenAI(cfg Config) model {
	header := http.Header{}
	if cfg.Key != "" {
		header.Set("Authorization", "Bearer "+cfg.Key)
	}
	return &chat{client: newClient(cfg, "chat/completions", header), model: cfg.Model, most: cfg.MaxTokens}
}

// ask implements model. What a server refuses to take is left out from then on.
func (c *chat) ask(ctx context.Context, talk []message) (said reply, err error) {
	messages := []chatMessage{{"system", rules}}
	for _, t := range talk {
		messages = append(messages, chatMessage{t.role(), t.text})
	}
	for {
		c.mu.Lock()
		without := c.refused
		c.mu.Unlock()
		if said, err = c.send(ctx, c.request(messages, without)); err == nil {
			return said, nil
		}
		switch {
		case !without.temperature && refuses(err, "temperature"):
			without.temperature = true
		case !without.maxTokens && refuses(err, "max_tokens"):
			without.maxTokens = true
		case !without.usage && refuses(err, "stream_options"):
			without.usage = true
		default:
			return said, err
		}
		c.mu.Lock()
		c.refused = without
		c.mu.Unlock()
	}
}

func (c *chat) request(messages []chatMessage, without dialect) chatRequest {
	req := chatRequest{Model: c.model, Messages: messages, Stream: true}
	if !without.temperature {
		req.Temperature = new(0)
	}
	if without.maxTokens {
		req.MaxCompletionTokens = c.most
	} else {
		req.MaxTokens = c.most
	}
	if !without.usage {
		req.StreamOptions = &chatOptions{IncludeUsage: true}
	}
	return req
}

func (c *chat) send(ctx context.Context, req chatRequest) (said reply, err error) {
	reason, refusal := "", false
	said.text, err = c.client.stream(ctx, req, func(data []byte) (text string, err error) {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return "", io.EOF
		}
		var chunk chatChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return "", err
		}
		if u := chunk.Usage; u.PromptTokens+u.CompletionTokens > 0 {
			said.usage = brief.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			refusal = refusal || choice.Delta.Refusal != ""
			if choice.FinishReason != "" {
				reason = choice.FinishReason
			}
		}
		return text, nil
	})
	switch {
	case err != nil: // also of one that breaks off between the reason and the usage
		return said, err
	case reason == "":
		return said, broken(ctx, nil)
	}
	said.whole = true
	return said, ending(reason, refusal)
}

// ending is the error of an answer that came to its end for a reason, nil where it is the one that is wanted.
func ending(reason string, refusal bool) error {
	switch {
	case refusal || reason == "content_filter":
		return errRefused
	case reason == "length":
		return errLength
	case reason != "stop":
		return fmt.Errorf("the model stopped because of %q", reason)
	}
	return nil
}
