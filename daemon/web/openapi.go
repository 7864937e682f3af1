package web

import (
	"crypto/sha256"
	_ "embed" // openapi.yaml and what is made from it
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

//go:generate go run ../../internal/build/render

//go:embed openapi.yaml
var yamlText []byte

//go:embed openapi.json
var jsonText []byte

//go:embed docs.html
var docsText []byte

//go:embed docs.css
var docsStyle string

// DescriptionYAML is the description as DescriptionYAML, with its comments.
func DescriptionYAML() []byte { return slices.Clone(yamlText) }

// DescriptionJSON is the description as DescriptionJSON.
func DescriptionJSON() []byte { return slices.Clone(jsonText) }

// DescriptionRoutes are those of the description, for Config.
func DescriptionRoutes() Routes {
	docs := document{contentHTML, docsText, http.Header{}}
	pageHeaders(docs.header, docsStyle)
	return Routes{
		api.PathOpenAPI:     {http.MethodGet: document{"application/json", jsonText, nil}.handler()},
		api.PathOpenAPIYAML: {http.MethodGet: document{"application/yaml", yamlText, nil}.handler()},
		api.PathDocs:        {http.MethodGet: docs.handler()},
		pathTopic:           {http.MethodGet: topic()},
	}
}

// document is a text that is part of the program.
type document struct {
	contentType string
	text        []byte
	header      http.Header // more of them; nil means none
}

// handler serves d, or says that the client's copy is still good.
func (d document) handler() Handler {
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
		Send(w, http.StatusOK, d.contentType, d.text)
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
