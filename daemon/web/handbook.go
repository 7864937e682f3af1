package web

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"

	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/sdk/api"
)

// pathTopic is where a topic of the handbook is served. The page of the description links to them.
const pathTopic = api.PathDocs + "/{topic}"

// topicPage is the page of a topic: title, style, links, text.
const topicPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · contextd</title>
<style>%s</style>
</head>
<body>
<header><a class="home" href="../">contextd</a> <nav aria-label="Service"><a href="../docs" aria-current="true">Docs</a></nav></header>
<main>
<nav aria-label="Handbook"><p>%s</p></nav>
%s</main>
</body>
</html>
`

// topic makes the handler of the topics' pages. They are made when somebody first asks for one.
func topic() Handler {
	pages := sync.OnceValue(topicPages)
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("topic")
		if show, ok := pages()[name]; ok {
			return show(w, r)
		}
		return api.Errorf(api.ReasonNotFound, "the handbook has no topic %q", name).WithHint("topics: %s", api.PathDocs)
	}
}

func topicPages() map[string]Handler {
	links := []string{`<a href="../docs">API</a>`}
	for _, t := range handbook.Topics() {
		links = append(links, fmt.Sprintf(`<a href="%s">%s</a>`, t.Name, t.Name))
	}
	pages := make(map[string]Handler)
	for _, t := range handbook.Topics() {
		text := fmt.Sprintf(topicPage, html.EscapeString(t.Title), docsStyle, strings.Join(links, " · "), t.HTML())
		pages[t.Name] = newPage([]byte(text)).handler()
	}
	return pages
}
