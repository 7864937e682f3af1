package programs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveModel starts a server of chat completions that answers with one file after the other, and writes its address into every
// NAME.in, as NAME: model FILE....
func serveModel(ts *testscript.TestScript, _ bool, args []string) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(ts.MkAbs(args[min(int(asked.Add(1)), len(args))-1]))
		if err != nil || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, "no such text", http.StatusNotFound)
			return
		}
		quoted, _ := json.Marshal(string(text))
		w.Header().Set("Content-Type", "text/event-stream")
		const chunk = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":%s}]," +
			"\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":200}}\n\n"
		fmt.Fprintf(w, chunk+chunk+"data: [DONE]\n\n", quoted, "null", `""`, `"stop"`)
	}))
	ts.Defer(server.Close)
	templates, err := filepath.Glob(ts.MkAbs("*.in"))
	ts.Check(err)
	for _, name := range templates {
		text := strings.ReplaceAll(ts.ReadFile(name), "MODEL", server.URL+"/v1")
		ts.Check(os.WriteFile(strings.TrimSuffix(name, ".in"), []byte(text), 0o600))
	}
}
