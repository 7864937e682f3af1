package web

import (
	"bytes"
	_ "embed" // connect.html
	"html/template"
	"net/http"

	"github.com/contextd/contextd/sdk/api"
)

//go:embed connect.html
var connectHTML string

// ConnectPage is the page that tells people who open the address of MCP in a browser what to do with it. base is the URL of the service;
// signsIn says that agents sign in there by OAuth.
func ConnectPage(base string, signsIn bool) (Handler, error) {
	page, err := template.New("page").Parse(connectHTML)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.Execute(&text, struct {
		Style   template.CSS
		URL     string
		SignsIn bool
	}{template.CSS(landingCSS), base + api.PathMCPAccount, signsIn})
	return func(w http.ResponseWriter, _ *http.Request) error {
		pageHeaders(w.Header(), landingCSS)
		w.Header().Set("Cache-Control", api.CacheRevalidate)
		w.Header().Add("Vary", "Accept, Authorization")
		Send(w, http.StatusOK, contentHTML, text.Bytes())
		return nil
	}, err
}
