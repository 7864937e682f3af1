// Package openapi is the machine-readable description of the HTTP API, and the routes that serve it: as YAML, as JSON and as a page.
//
// openapi.yaml is the source and written by hand; the other two are made from it by go generate. The tests hold the daemon to it: they
// produce every status of every operation and compare the description with the daemon's routes, both ways. The package decides nothing.
package openapi

import (
	"crypto/sha256"
	_ "embed" // openapi.yaml and what is made from it
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/web/page"
	"github.com/contextd/contextd/sdk/api"
)

//go:generate go run ./render

//go:embed openapi.yaml
var yamlText []byte

//go:embed openapi.json
var jsonText []byte

//go:embed docs.html
var docsText []byte

//go:embed docs.css
var docsStyle string

// YAML is the description as YAML, with its comments.
func YAML() []byte { return slices.Clone(yamlText) }

// JSON is the description as JSON.
func JSON() []byte { return slices.Clone(jsonText) }

// Routes are those of the description, for web.Config.
func Routes() web.Routes {
	docs := document{page.HTML, docsText, http.Header{}}
	page.Headers(docs.header, docsStyle)
	return web.Routes{
		api.PathOpenAPI:     {http.MethodGet: document{"application/json", jsonText, nil}.handler()},
		api.PathOpenAPIYAML: {http.MethodGet: document{"application/yaml", yamlText, nil}.handler()},
		api.PathDocs:        {http.MethodGet: docs.handler()},
	}
}

// document is a text that is part of the program.
type document struct {
	contentType string
	text        []byte
	header      http.Header // more of them; nil means none
}

// handler serves d, or says that the client's copy is still good.
func (d document) handler() web.Handler {
	sum := sha256.Sum256(d.text)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		maps.Copy(h, d.header)
		h.Set("ETag", tag)
		h.Set("Cache-Control", api.CacheHour)
		h.Set("Access-Control-Allow-Origin", "*") // tools in browsers read descriptions
		if has(r.Header["If-None-Match"], tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		web.Send(w, http.StatusOK, d.contentType, d.text)
		return nil
	}
}

// has reports whether the values of an If-None-Match name tag.
func has(values []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}
