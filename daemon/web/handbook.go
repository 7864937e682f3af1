package web

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/sdk/api"
)

// pathTopic is where a topic of the handbook is served. The page of the description links to them.
const pathTopic = api.PathDocs + "/{topic}"

// topicPage is the page of a topic: title, style, header, links, text.
const topicPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · contextd</title>
<style>%s</style>
</head>
<body>
%s
<main>
<nav aria-label="Handbook"><p>%s</p></nav>
%s</main>
</body>
</html>
`

// headed serves what open makes with the header of all pages, for the first who asks and again when the packs in it are others. Links in it
// begin with root; current is what the documentation is to the page.
func headed(root, current string, packs func() []api.PackInfo, open func(header template.HTML) (Handler, error)) Handler {
	var mu sync.Mutex
	var last template.HTML
	var serve Handler
	return func(w http.ResponseWriter, r *http.Request) error {
		header := docsHeader(root, current, packs)
		mu.Lock()
		if header != last {
			made, err := open(header)
			if err != nil {
				mu.Unlock()
				return err
			}
			last, serve = header, made
		}
		show := serve
		mu.Unlock()
		return show(w, r)
	}
}

// docsHeader is the header of a page of the documentation.
func docsHeader(root, current string, packs func() []api.PackInfo) template.HTML {
	var links, account string
	if packs != nil {
		for _, p := range packs() {
			links += fmt.Sprintf(`<a href="%spacks/%s" title="%s">%s</a> `, root, p.ID, html.EscapeString(p.Title), p.ID)
		}
		links = `<nav aria-label="Packs">` + links + `</nav> `
		account = fmt.Sprintf(` <a href="%saccount">Account</a>`, root)
	}
	return template.HTML(fmt.Sprintf(`<header><a class="home" href="%s">contextd</a> %s<nav aria-label="Service">`+
		`<a href="%sdocs" aria-current="%s">Docs</a>%s</nav></header>`, cmp.Or(root, "./"), links, root, current, account))
}

// topic makes the handler of the topics' pages.
func topic(header template.HTML) (Handler, error) {
	pages := topicPages(header)
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("topic")
		if show, ok := pages[name]; ok {
			return show(w, r)
		}
		return api.Errorf(api.ReasonNotFound, "the handbook has no topic %q", name).WithHint("topics: %s", api.PathDocs)
	}, nil
}

func topicPages(header template.HTML) map[string]Handler {
	links := []string{`<a href="../docs">API</a>`}
	for _, t := range handbook.Topics() {
		links = append(links, fmt.Sprintf(`<a href="%s">%s</a>`, t.Name, t.Name))
	}
	pages := make(map[string]Handler)
	for _, t := range handbook.Topics() {
		text := fmt.Sprintf(topicPage, html.EscapeString(t.Title), docsStyle, header, strings.Join(links, " · "), t.HTML())
		pages[t.Name] = newPage([]byte(text)).handler()
	}
	return pages
}
