package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/contextd/contextd/daemon/brief"
)

// messages is a model that is spoken to by the Messages API of Anthropic.
type messages struct {
	service anthropic.MessageService
	model   string
	most    int64       // tokens of an answer
	warm    atomic.Bool // it takes no temperature
}

// newAnthropic makes a model. The service is made without a client, which would look into the environment.
func newAnthropic(cfg Config, d doer) model {
	opts := []option.RequestOption{option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(d), option.WithMaxRetries(cfg.Retries)}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	return &messages{service: anthropic.NewMessageService(opts...), model: cfg.Model, most: cfg.MaxTokens}
}

// ask implements model.
func (m *messages) ask(ctx context.Context, talk []turn) (reply, error) {
	params := anthropic.MessageNewParams{
		Model: m.model, MaxTokens: m.most, System: []anthropic.TextBlockParam{{Text: rules}}, Temperature: anthropic.Float(0),
	}
	for _, t := range talk {
		say := anthropic.NewUserMessage
		if t.model {
			say = anthropic.NewAssistantMessage
		}
		params.Messages = append(params.Messages, say(anthropic.NewTextBlock(t.text)))
	}
	if !m.warm.Load() {
		said, err := m.send(ctx, params)
		if !refuses(err, "temperature") {
			return said, err
		}
		m.warm.Store(true)
	}
	params.Temperature = anthropic.MessageNewParams{}.Temperature
	return m.send(ctx, params)
}

// send makes one call.
func (m *messages) send(ctx context.Context, params anthropic.MessageNewParams) (said reply, err error) {
	var res *http.Response
	stream := m.service.NewStreaming(ctx, params, option.WithResponseInto(&res))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return reply{}, started(ctx, begun(res, err))
	}
	var message anthropic.Message
	var text strings.Builder
	ended := false
	for stream.Next() {
		event := stream.Current()
		if err := message.Accumulate(event); err != nil {
			return m.reply(&message, &text), broken(ctx, err)
		}
		ended = ended || event.Type == "message_stop"
		text.WriteString(event.Delta.Text)
		if text.Len() > maxText {
			return m.reply(&message, &text), errHuge
		}
	}
	said = m.reply(&message, &text)
	said.whole = ended
	switch {
	case stream.Err() != nil || !ended:
		return said, broken(ctx, stream.Err())
	case message.StopReason == anthropic.StopReasonRefusal:
		return said, errRefused
	case message.StopReason == anthropic.StopReasonMaxTokens, message.StopReason == anthropic.StopReasonModelContextWindowExceeded:
		return said, errLength
	case message.StopReason != anthropic.StopReasonEndTurn && message.StopReason != anthropic.StopReasonStopSequence:
		return said, fmt.Errorf("the model stopped because of %q", message.StopReason)
	}
	return said, nil
}

// reply is what was said so far.
func (m *messages) reply(message *anthropic.Message, text *strings.Builder) reply {
	u := message.Usage
	return reply{text: text.String(), usage: brief.Usage{
		InputTokens: u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens, OutputTokens: u.OutputTokens,
	}}
}
