package replay

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
)

//go:embed failures
var failures embed.FS

// Failure is an answer that a source may give when something is wrong there: an error, a page in place of data, a body that is cut off,
// odd numbers, hostile text.
type Failure struct {
	File    string // such as failures/truncated.json
	Status  int
	Headers map[string]string
	Class   string // what it is to be judged as by a source of the same kind, as source.Class
	Body    []byte
}

// Failures are all kinds of them, the same list for every source.
func Failures() []Failure {
	list, err := readFailures()
	if err != nil {
		panic(fmt.Sprintf("replay: %v", err)) // it is part of the program
	}
	return list
}

func readFailures() ([]Failure, error) {
	data, err := failures.ReadFile("failures/manifest.json")
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	var manifest struct {
		Entries []struct {
			Failure
			Expect struct{ Class string }
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("decode failures: %w", err)
	}
	list := make([]Failure, len(manifest.Entries))
	for i, e := range manifest.Entries {
		list[i] = e.Failure
		list[i].Class = e.Expect.Class
		if list[i].Body, err = failures.ReadFile(e.File); err != nil {
			return nil, fmt.Errorf("read failure: %w", err)
		}
	}
	return list, nil
}

// Answer answers every request with f.
func (f Failure) Answer(req *http.Request) (*http.Response, error) {
	resp := response(req, f.Status, f.Body)
	for name, value := range f.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}
