package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/contextd/contextd/daemon/brief"
)

// anthropicVersion is the version of the Messages API that this file is written for. The server keeps old ones.
const anthropicVersion = "2023-06-01"

// messages is a model that is spoken to by the Messages API of Anthropic.
type messages struct {
	client client
	model  string
	most   int64       // tokens of an answer
	warm   atomic.Bool // it takes no temperature
}

type messagesRequest struct {
	Model       string            `json:"model"`
	MaxTokens   int64             `json:"max_tokens"`
	Temperature *int              `json:"temperature,omitempty"`
	Stream      bool              `json:"stream"`
	System      []messagesText    `json:"system"`
	Messages    []messagesMessage `json:"messages"`
}

type messagesMessage struct {
	Role    string         `json:"role"`
	Content []messagesText `json:"content"`
}

type messagesText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// messagesEvent is one event of an answer, of whatever type.
type messagesEvent struct {
	Type    string                        `json:"type"`
	Message struct{ Usage messagesUsage } `json:"message"` // of message_start
	Usage   messagesUsage                 `json:"usage"`   // of message_delta
	Delta   struct {
		Text       string `json:"text"`        // of content_block_delta
		StopReason string `json:"stop_reason"` // of message_delta
	} `json:"delta"`
}

// messagesUsage counts the tokens of the whole message until now.
type messagesUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

func newAnthropic(cfg Config) model {
	header := http.Header{"Anthropic-Version": {anthropicVersion}}
	if cfg.Key != "" {
		header.Set("X-Api-Key", cfg.Key)
	}
	return &messages{client: newClient(cfg, "v1/messages", header), model: cfg.Model, most: cfg.MaxTokens}
}

func (m *messages) ask(ctx context.Context, talk []message) (reply, error) {
	req := messagesRequest{Model: m.model, MaxTokens: m.most, Temperature: new(0), Stream: true, System: []messagesText{{"text", rules}}}
	for _, t := range talk {
		req.Messages = append(req.Messages, messagesMessage{t.role(), []messagesText{{"text", t.text}}})
	}
	if !m.warm.Load() {
		said, err := m.send(ctx, req)
		if !refuses(err, "temperature") {
			return said, err
		}
		m.warm.Store(true)
	}
	req.Temperature = nil
	return m.send(ctx, req)
}

func (m *messages) send(ctx context.Context, req messagesRequest) (said reply, err error) {
	var used messagesUsage
	reason := ""
	said.text, err = m.client.stream(ctx, req, func(data []byte) (string, error) {
		event := messagesEvent{Usage: used} // what an event does not count keeps its count
		if err := json.Unmarshal(data, &event); err != nil {
			return "", err
		}
		switch event.Type {
		case "message_start":
			used = event.Message.Usage
		case "message_delta":
			used, reason = event.Usage, event.Delta.StopReason
		case "message_stop":
			said.whole = true
			return "", io.EOF
		}
		return event.Delta.Text, nil
	})
	said.usage = brief.Usage{InputTokens: used.Input + used.Created + used.Read, OutputTokens: used.Output}
	switch {
	case err != nil:
		return said, err
	case !said.whole:
		return said, broken(ctx, nil)
	case reason == "refusal":
		return said, errRefused
	case reason == "max_tokens", reason == "model_context_window_exceeded":
		return said, errLength
	case reason != "end_turn" && reason != "stop_sequence":
		return said, fmt.Errorf("the model stopped because of %q", reason)
	}
	return said, nil
}
