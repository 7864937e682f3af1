package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // openapi.yaml and the style of its page
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/sdk/api"
)

//go:embed openapi.yaml
var yamlText []byte

//go:embed docs.css
var docsStyle string

// DescriptionYAML is the description of the HTTP API as YAML.
func DescriptionYAML() ([]byte, error) {
	root, err := descriptionRoot()
	if err != nil {
		return nil, err
	}
	return root.text()
}

// DescriptionJSON is the description as JSON.
func DescriptionJSON() ([]byte, error) {
	root, err := descriptionRoot()
	if err != nil {
		return nil, err
	}
	return root.indented()
}

// descriptionRoot is the description as a tree: openapi.yaml with what expand adds.
func descriptionRoot() (node, error) {
	var tree yaml.Node
	if err := yaml.Unmarshal(yamlText, &tree); err != nil {
		return node{}, fmt.Errorf("read the description: %w", err)
	}
	root := node{tree.Content[0]}
	return root, expand(root)
}

// DescriptionRoutes are those of the description, for Config. What is made of the YAML is made when somebody first asks for it. The header
// of its pages leads to those of packs; nil means that there are none.
func DescriptionRoutes(packs func() []api.PackInfo) Routes {
	docs := func(header template.HTML) (Handler, error) {
		root, err := descriptionRoot()
		if err != nil {
			return nil, err
		}
		text, err := docsPage(root, header)
		return newPage(text).handler(), err
	}
	asJSON := func() (document, error) {
		text, err := DescriptionJSON()
		return document{contentType: "application/json", text: text}, err
	}
	asYAML := func() (document, error) {
		text, err := DescriptionYAML()
		return document{contentType: "application/yaml", text: text}, err
	}
	inJSON := once(asJSON)
	return Routes{
		api.PathOpenAPI:     {http.MethodGet: inJSON},
		api.PathOpenAPIRoot: {http.MethodGet: inJSON},
		api.PathOpenAPIYAML: {http.MethodGet: once(asYAML)},
		api.PathDocs:        {http.MethodGet: headed("", "page", packs, docs)},
		pathTopic:           {http.MethodGet: headed("../", "true", packs, topic)},
	}
}

// once serves the document that open makes for the first request.
func once(open func() (document, error)) Handler {
	handler := sync.OnceValues(func() (Handler, error) {
		d, err := open()
		return d.handler(), err
	})
	return func(w http.ResponseWriter, r *http.Request) error {
		serve, err := handler()
		if err != nil {
			return err
		}
		return serve(w, r)
	}
}

func newPage(text []byte) document {
	d := document{contentType: contentHTML, text: text, header: http.Header{}}
	pageHeaders(d.header, docsStyle)
	return d
}

// document is a text that is free, and seldom changes.
type document struct {
	contentType string
	text        []byte
	header      http.Header // more of them; nil means none
	cache       string      // Cache-Control; "" means api.CacheHour
}

// handler serves d, compressed once for who takes that, or says that the client's copy is still good.
func (d document) handler() Handler {
	sum := sha256.Sum256(d.text)
	plain := hex.EncodeToString(sum[:8])
	zipped := compressed(d.text)
	return func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		maps.Copy(h, d.header)
		text, tag := d.text, `"`+plain+`"`
		if zipped != nil {
			h.Add("Vary", "Accept-Encoding")
			if acceptsGzip(r.Header["Accept-Encoding"]) {
				text, tag = zipped, `"`+plain+`-gzip"` // of other bytes
			}
		}
		h.Set("ETag", tag)
		h.Set("Cache-Control", cmp.Or(d.cache, api.CacheHour))
		h.Set("Access-Control-Allow-Origin", "*") // tools in browsers read descriptions
		if has(r.Header["If-None-Match"], tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if len(text) < len(d.text) {
			h.Set("Content-Encoding", "gzip")
		}
		Send(w, http.StatusOK, d.contentType, text)
		return nil
	}
}

// compressed is text in gzip, nil where that is not worth it.
func compressed(text []byte) []byte {
	const least = 1 << 10
	if len(text) < least {
		return nil
	}
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // it is a level
	if _, err := zip.Write(text); err != nil || zip.Close() != nil || out.Len() >= len(text) {
		return nil
	}
	return out.Bytes()
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
