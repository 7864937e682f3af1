package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"time"
)

// aiPack is the pack ai.
func aiPack() shippedPack {
	return shippedPack{
		id: "ai",
		sources: []upstream{
			{id: "openrouter-models", asked: "openrouter.ai", read: readModels, about: "Claude Opus 4.5 price"},
			{id: "huggingface-models", asked: "huggingface.co/api/models", sway: 0.05, read: readTrending, about: "GLM-4.6 downloads",
				moves: regexp.MustCompile(`"(?:likes|trendingScore|downloads)":(\d+)`)},
			{id: "huggingface-papers", asked: "daily_papers", sway: 0.05, read: readPapers, about: "most upvoted papers",
				moves: regexp.MustCompile(`"upvotes":(\d+)`)},
			{id: "arxiv", asked: "rss.arxiv.org", read: func([]byte) ([]fact, error) { return nil, nil },
				about: "On the Identifiability of Latent Skills"},
			{id: "ollama-releases", asked: "ollama/releases.atom", read: readReleases("ollama", "Ollama"),
				about: "latest ollama release"},
			{id: "vllm-releases", asked: "vllm/releases.atom", read: readReleases("vllm", "vLLM"), about: "latest vllm release"},
			{id: "transformers-releases", asked: "transformers/releases.atom", read: readReleases("transformers", "Transformers"),
				about: "latest transformers release"},
			{id: "anthropic-status", asked: "status.claude.com", read: readStatus("anthropic", "Anthropic"), about: "anthropic status"},
			{id: "openai-status", asked: "status.openai.com", read: readStatus("openai", "OpenAI"), about: "openai status"},
			{id: "hacker-news", asked: "hn.algolia.com", sway: 0.05, read: readHits, about: "Running an AI model on a 2009 netbook",
				moves: regexp.MustCompile(`"points":(\d+)`)},
		},
		ways: aiWays(),
		steady: map[string][]string{
			"trending_model": {"trendingScore", "likes", "downloads"}, "service": {"impact"}, "story": {"points"}, "paper": {"upvotes"},
		},
		rows: func(facts []fact, f fact) bool {
			return f.kind == "service" && !strings.Contains(f.key, "/") || f.rank > 0 && f.rank <= map[string]int{
				"trending_model": 8, "story": 5, "paper": 4,
			}[f.kind]
		},
		bears: map[string]func(evidence) bool{
			"outage": func(e evidence) bool { return e.is("impact") > 0 },
			"price_change": func(e evidence) bool {
				for ago := 1; ago <= 288; ago++ {
					for _, field := range []string{"promptPerMillionUsd", "completionPerMillionUsd"} {
						if was, known := e.value(field, ago); known && was != e.is(field) {
							return true
						}
					}
				}
				return false
			},
		},
		events: aiEvents,
	}
}

func aiWays() map[string][]ways {
	return map[string][]ways{
		"model": {
			{"price", "promptPerMillionUsd", []string{
				"N price", "price of N", "N prompt price", "how much is N", "what does N cost", "N input price", "N pricing",
			}},
			{"price", "completionPerMillionUsd", []string{"N output price", "N completion price", "N completion cost",
				"output price of N"}},
			{"context", "contextTokens", []string{"N context window", "context length of N", "N context",
				"how many tokens of context has N"}},
		},
		"trending_model": {
			{"downloads", "downloads", []string{"N downloads", "downloads of N", "how many downloads has N"}},
			{"likes", "likes", []string{"N likes", "likes of N", "N huggingface likes", "how many likes has N"}},
		},
		"service": {
			{"status", "impact", []string{"V severity", "impact of V outage"}},
			{"status", "incidents", []string{"V incidents", "open incidents at V"}},
		},
		"release": {{"release", "", []string{"latest N release", "N latest version", "newest N version", "N release",
			"what is the latest version of N"}}},
		"paper": {{"paper", "", []string{"N", "paper N"}}},
		"story": {{"story", "points", []string{"N points", "hacker news points of N"}}},
	}
}

func aiEvents(at func(float64) int) []happening {
	last := max(4, at(0.06))
	event := func(source string, from float64, edit func(string) string, flag string, critical bool, named string) happening {
		return happening{source, at(from), at(from) + last, edit, flag, critical, named}
	}
	worse := func(indicator, description string) func(string) string {
		return put(`"status":{"indicator":"none","description":"All Systems Operational"}`,
			`"status":{"indicator":"`+indicator+`","description":"`+description+`"}`)
	}
	return []happening{
		event("anthropic-status", 0.05, worse("major", "Partial System Outage"), "outage:anthropic", false, "Anthropic"),
		event("openai-status", 0.15, worse("critical", "Major Service Outage"), "outage:openai", true, "OpenAI"),
		event("openai-status", 0.3, put(`"name":"Responses","status":"operational"`, `"name":"Responses","status":"major_outage"`),
			"outage:openai/responses", true, "OpenAI Responses"),
		event("anthropic-status", 0.4, put(`"name":"Claude Code","status":"operational"`, `"name":"Claude Code","status":"major_outage"`),
			"outage:anthropic/claude-code", true, "Claude Code"),
		event("openrouter-models", 0.2, put(`"prompt":"0.0000052"`, `"prompt":"0.0000042"`), "price_change:anthropic/claude-opus-4.5",
			false, ""),
		event("openrouter-models", 0.45, put(`"prompt":"0.0000014"`, `"prompt":"0.0000018"`), "price_change:openai/gpt-5.1", false, ""),
	}
}

func readModels(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		Data []struct {
			ID, Name string
			Context  *float64 `json:"context_length"`
			Pricing  struct{ Prompt, Completion string }
		}
	}](text)
	for _, m := range doc.Data {
		prompt, completion := atof(m.Pricing.Prompt), atof(m.Pricing.Completion)
		if !(prompt >= 0 && completion >= 0 && prompt+completion > 0) || strings.Contains(m.Name, "(") {
			continue
		}
		name := m.Name[strings.Index(m.Name, ":")+1:]
		base := fact{source: "openrouter-models", kind: "model", key: m.ID, name: strings.TrimSpace(name)}
		list = append(list, row(base, append(optional("contextTokens", m.Context, exact),
			num("promptPerMillionUsd", prompt*1e6, price), num("completionPerMillionUsd", completion*1e6, price))...)...)
	}
	return list, err
}

func readTrending(text []byte) (list []fact, err error) {
	models, err := decoded[[]struct {
		ID                              string
		Likes, Downloads, TrendingScore float64
	}](text)
	for i, m := range models {
		_, name, _ := strings.Cut(m.ID, "/")
		base := fact{source: "huggingface-models", kind: "trending_model", key: m.ID, name: name, rank: i + 1}
		list = append(list, row(base, num("downloads", m.Downloads, exact), num("likes", m.Likes, exact),
			num("trendingScore", m.TrendingScore, exact))...)
	}
	return list, err
}

func readPapers(text []byte) (list []fact, err error) {
	papers, err := decoded[[]struct {
		Paper struct {
			ID, Title string
			Upvotes   *float64
		}
	}](text)
	slices.SortStableFunc(papers, func(a, b struct {
		Paper struct {
			ID, Title string
			Upvotes   *float64
		}
	}) int {
		return cmp.Compare(orZero(b.Paper.Upvotes), orZero(a.Paper.Upvotes))
	})
	for i, p := range papers {
		base := fact{source: "huggingface-papers", kind: "paper", key: p.Paper.ID, name: p.Paper.Title, rank: i + 1}
		list = append(list, row(base, optional("upvotes", p.Paper.Upvotes, exact)...)...)
		if title, _, _ := strings.Cut(p.Paper.Title, ":"); len(title) < 50 {
			base.name, base.text, base.rank = title, p.Paper.Title, 0
			list = append(list, base)
		}
	}
	return list, err
}

func orZero(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

func readReleases(id, name string) func([]byte) ([]fact, error) {
	return func(text []byte) ([]fact, error) {
		var feed struct {
			Entries []struct {
				Updated time.Time `xml:"updated"`
				Link    struct {
					To string `xml:"href,attr"`
				} `xml:"link"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal(text, &feed); err != nil {
			return nil, err
		}
		newest := feed.Entries[0]
		for _, e := range feed.Entries {
			if e.Updated.After(newest.Updated) {
				newest = e
			}
		}
		tag := newest.Link.To[strings.LastIndex(newest.Link.To, "/")+1:]
		return []fact{{source: id + "-releases", kind: "release", key: id + "/" + tag, name: name, text: name + " " + tag}}, nil
	}
}

func readStatus(id, name string) func([]byte) ([]fact, error) {
	return func(text []byte) ([]fact, error) {
		doc, err := decoded[struct {
			Status     struct{ Indicator string }
			Incidents  []struct{ Status string }
			Components []struct {
				Name, Status string
				Group        json.RawMessage
			}
		}](text)
		impact := map[string]float64{
			"minor": 1, "major": 2, "critical": 3, "degraded_performance": 1, "partial_outage": 2, "major_outage": 3,
		}
		open := 0.0
		for _, i := range doc.Incidents {
			if i.Status != "resolved" && i.Status != "postmortem" {
				open++
			}
		}
		base := fact{source: id + "-status", kind: "service", key: id, name: name, other: name}
		list := row(base, num("impact", impact[doc.Status.Indicator], exact), num("incidents", open, exact))
		other := regexp.MustCompile(`[^a-z0-9]+`)
		for _, c := range doc.Components {
			base.key = id + "/" + strings.Trim(other.ReplaceAllString(strings.ToLower(c.Name), "-"), "-")
			base.name, base.asked = name+" "+c.Name, "component"
			if string(c.Group) != "true" {
				list = append(list, row(base, num("impact", impact[c.Status], exact))...)
			}
		}
		return list, err
	}
}

func readHits(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		Hits []struct {
			ID     string `json:"objectID"`
			Title  string
			Points float64
		}
	}](text)
	hits := slices.DeleteFunc(doc.Hits, func(h struct {
		ID     string `json:"objectID"`
		Title  string
		Points float64
	}) bool {
		return !slices.Contains(strings.FieldsFunc(h.Title, func(r rune) bool { return strings.ContainsRune(" :,.?", r) }), "AI")
	})
	slices.SortStableFunc(hits, func(a, b struct {
		ID     string `json:"objectID"`
		Title  string
		Points float64
	}) int {
		return cmp.Compare(b.Points, a.Points)
	})
	for i, h := range hits {
		short := strings.TrimSuffix(h.Title, " (synthetic)")
		base := fact{source: "hacker-news", kind: "story", key: h.ID, name: short, rank: i + 1}
		list = append(list, row(base, num("points", h.Points, exact))...)
	}
	return list, err
}
