package manifest_test

import (
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestAIQuestions asks the recorded data what agents and people ask.
func TestAIQuestions(t *testing.T) {
	t.Parallel()
	ask(t, api.PackAI, map[string]string{
		"average prompt price of OpenAI models versus Anthropic models": "missing average no_such_field, openai not_kept",
		"which publisher has the most models":                           "missing publisher no_such_field",
		"open incidents at openai":                                      "service/openai incidents",
		"gpt price": "prefix: model/openai/gpt-5.1 promptPerMillionUsd completionPerMillionUsd; " +
			"prefix: model/openai/gpt-5.1-codex promptPerMillionUsd completionPerMillionUsd; " +
			"prefix: model/openai/gpt-5-pro promptPerMillionUsd completionPerMillionUsd",
		"cheapest three models for input with at least 1M context": "model/google/gemini-2.5-flash-lite promptPerMillionUsd contextTokens; " +
			"model/meta-llama/llama-4-maverick promptPerMillionUsd contextTokens; model/x-ai/grok-4-fast promptPerMillionUsd contextTokens",
		"gpt-5 mini price":                  "model/openai/gpt-5-mini promptPerMillionUsd completionPerMillionUsd",
		"what does claude sonnet 4.5 cost?": "model/anthropic/claude-sonnet-4.5 promptPerMillionUsd completionPerMillionUsd",
		"models by openai":                  "model/openai/gpt-5.1; model/openai/gpt-5.1-codex; model/openai/gpt-5-pro",
		"olama release": "spelling: release/ollama/v9.4.1; spelling: release/ollama/v9.4.0; " +
			"spelling: release/ollama/v9.4.0-rc2",
		"cheapest model":                   "model/ibm-granite/granite-4.0-h-micro promptPerMillionUsd",
		"cheapest model by output price":   "model/meta-llama/llama-3.1-8b-instruct completionPerMillionUsd",
		"priciest model per output token":  "model/openai/gpt-5-pro completionPerMillionUsd",
		"cheapest model by input price":    "model/ibm-granite/granite-4.0-h-micro promptPerMillionUsd",
		"cheapest model by context window": "missing by context ambiguous",
		"most expensive models": "model/openai/gpt-5-pro promptPerMillionUsd; model/anthropic/claude-opus-4.1 promptPerMillionUsd; " +
			"model/anthropic/claude-opus-4.5 promptPerMillionUsd",
		"newest models": "model/anthropic/claude-opus-4.5; model/google/gemini-3-pro-preview; model/openai/gpt-5.1",
		"deepseek context window": "model/deepseek/deepseek-v3.2-exp contextTokens; " +
			"model/deepseek/deepseek-v3.1-terminus contextTokens; model/deepseek/deepseek-chat-v3.1 contextTokens",
		"gemini 2.5 flash context": "model/google/gemini-2.5-flash contextTokens",
		"qwen3 coder price":        "prefix: model/qwen/qwen3-coder promptPerMillionUsd completionPerMillionUsd",
		"kimi k2 downloads":        "prefix: trending_model/moonshotai/Kimi-K2-Thinking downloads",
		"is openai down":           "service/openai status",
		"is ChatGPT down?":         "service/openai status",
		"is claude code working":   "service/anthropic/claude-code status",
		"openai status":            "service/openai status",
		"anthropic outage":         "service/anthropic status",
		"sora status":              "service/openai/sora status",
		"trending models": "trending_model/moonshotai/Kimi-K2-Thinking trendingScore; " +
			"trending_model/deepseek-ai/DeepSeek-OCR trendingScore; " +
			"trending_model/MiniMaxAI/MiniMax-M2 trendingScore",
		"most liked models": "trending_model/MiniMaxAI/MiniMax-M2 likes; trending_model/Qwen/Qwen3-VL-235B-A22B-Instruct likes; " +
			"trending_model/deepseek-ai/DeepSeek-OCR likes",
		"likes of flux": "prefix: trending_model/black-forest-labs/FLUX.1-Kontext-dev likes",
		// a word that the average of another price passes over
		"mean completion price across the OpenAI models": "model/openai/gpt-5.1; model/openai/gpt-5.1-codex; model/openai/gpt-5-pro",
		"latest ollama release":                          "release/ollama/v9.4.1",
		"vllm version":                                   "release/vllm/v9.21.0 version; release/vllm/v9.20.2 version; release/vllm/v9.20.1 version",
		"transformers release":                           "release/transformers/v95.2.0; release/transformers/v95.1.1; release/transformers/v95.1.0",
		"papers about agents":                            "paper/2611.99114; paper/2611.99127; paper/2611.99166",
		"daily papers":                                   "paper/2611.99101; paper/2611.99114; paper/2611.99127",
		"top papers":                                     "paper/2611.99101 upvotes; paper/2611.99114 upvotes; paper/2611.99127 upvotes",
		"speech papers":                                  "paper/2611.99218; paper/2611.99648",
		"hacker news":                                    "story/99000117; story/99000428; story/99000739",
		"news about code review":                         "story/99000428",
		"llama 4 scout":                                  "model/meta-llama/llama-4-scout",
		"who made larkspur mini":                         "prefix: trending_model/larkspur-labs/larkspur-mini-synthetic publisher",
	})
}

// TestAIValues: prices are told per million tokens, and what is no model, no story or over is left out.
func TestAIValues(t *testing.T) {
	t.Parallel()
	values(t, api.PackAI, 1, map[string]string{
		"model/anthropic/claude-sonnet-4.5 promptPerMillionUsd":     "3.1",
		"model/anthropic/claude-sonnet-4.5 completionPerMillionUsd": "15.5",
		"model/anthropic/claude-sonnet-4.5 contextTokens":           "1e+06",
		"model/x-ai/grok-4 maxOutputTokens":                         "<nil>", // null
		"model/openai/gpt-oss-120b:free contextTokens":              "no row",
		"model/openrouter/auto contextTokens":                       "no row", // -1
		"trending_model/hexgrad/Kokoro-82M likes":                   "798",
		"trending_model/larkspur-labs/larkspur-mini-synthetic task": "<nil>",
		"paper/2611.99322 upvotes":                                  "<nil>",                         // null
		"paper/2611.99501 publishedAt":                              "2026-11-19 19:48:20 +0000 UTC", // without its version
		"release/transformers/v95.1.1 version":                      "v95.1.1",                       // by its tag, whatever it is called
		"release/ollama/v9.4.0-rc2 prerelease":                      "true", "release/ollama/v9.4.0 prerelease": "false",
		"service/anthropic incidents": "0", // one is resolved
		"service/openai status":       "All Systems Operational", "story/99000117 points": "312",
		"story/99002294 points": "no row", // Airfoil
	})
	values(t, api.PackAI, 2, map[string]string{
		"model/x-ai/grok-4-fast promptPerMillionUsd": "0.26", "model/x-ai/grok-4-fast completionPerMillionUsd": "0.65",
		"service/openai status": "Partial System Outage", "service/openai incidents": "1",
		"service/openai/responses status": "major outage", "service/openai startedAt": "2026-11-20 20:02:30 +0000 UTC",
	})
}

// TestAIFlags: flags rise and fall, a price's only after a day.
func TestAIFlags(t *testing.T) {
	t.Parallel()
	raises(t, api.PackAI, [][]string{
		nil,
		{"outage:openai/responses", "outage:openai", "price_change:deepseek/deepseek-v3.2-exp", "price_change:x-ai/grok-4-fast"},
		{"price_change:deepseek/deepseek-v3.2-exp", "price_change:openai/gpt-5-mini", "price_change:x-ai/grok-4-fast"},
	})
}
