package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/contextd/contextd/daemon/brief"
)

// chat is a model that is spoken to by chat completions, as OpenAI and many servers know them.
type chat struct {
	service openai.ChatCompletionService
	model   string
	most    int64 // tokens of an answer

	mu      sync.Mutex // guards refused
	refused dialect
}

// dialect is which parameters a server or a model does not take.
type dialect struct{ temperature, maxTokens, usage bool }

// newOpenAI makes a model. The service is made without a client, which would look into the environment.
func newOpenAI(cfg Config, d doer) model {
	opts := []option.RequestOption{option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(d), option.WithMaxRetries(cfg.Retries)}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	return &chat{service: openai.NewChatCompletionService(opts...), model: cfg.Model, most: cfg.MaxTokens}
}

// ask implements model. What a server refuses to take is left out from then on.
func (c *chat) ask(ctx context.Context, talk []turn) (said reply, err error) {
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(rules)}
	for _, t := range talk {
		if t.model {
			messages = append(messages, openai.AssistantMessage(t.text))
		} else {
			messages = append(messages, openai.UserMessage(t.text))
		}
	}
	for {
		c.mu.Lock()
		without := c.refused
		c.mu.Unlock()
		if said, err = c.send(ctx, c.params(messages, without)); err == nil {
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

// params is a request in a dialect.
func (c *chat) params(messages []openai.ChatCompletionMessageParamUnion, without dialect) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: c.model, Messages: messages}
	if !without.temperature {
		p.Temperature = openai.Float(0)
	}
	if without.maxTokens {
		p.MaxCompletionTokens = openai.Int(c.most)
	} else {
		p.MaxTokens = openai.Int(c.most)
	}
	if !without.usage {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	return p
}

// send makes one call.
func (c *chat) send(ctx context.Context, params openai.ChatCompletionNewParams) (said reply, err error) {
	var res *http.Response
	stream := c.service.NewStreaming(ctx, params, option.WithResponseInto(&res))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return reply{}, started(ctx, begun(res, err))
	}
	var text strings.Builder
	reason, refusal := "", false
	for stream.Next() {
		chunk := stream.Current()
		if u := chunk.Usage; u.PromptTokens+u.CompletionTokens > 0 {
			said.usage = brief.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
		}
		for _, choice := range chunk.Choices {
			text.WriteString(choice.Delta.Content)
			refusal = refusal || choice.Delta.Refusal != ""
			if choice.FinishReason != "" {
				reason = choice.FinishReason
			}
		}
		if text.Len() > maxText {
			err = errHuge
			break
		}
	}
	said.text = text.String()
	if err == nil {
		err = stream.Err() // also of one that breaks off between the reason and the usage
	}
	if err != nil || reason == "" {
		return said, broken(ctx, err)
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
