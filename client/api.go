package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
)

type apiOptions struct {
	*streams
	client func() (*sdk.Client, error)

	path, method string
	input        string   // file of the body, - for stdin, empty for none
	fields       []string // name=value, of the query or of the body
	include      bool     // the status line and the headers too
}

// newAPI makes the command for every call that has none of its own.
func newAPI(f *factory) *cobra.Command {
	o := apiOptions{streams: f.streams, client: f.Client}
	c := f.Command(&cobra.Command{
		Use: "api PATH", Short: "Make any call and show its answer", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Make any call with the key of the profile and show the unchanged answer.\n\n" +
			"-f adds query parameters, or members of a JSON body if the method is not GET.",
		Example: "  ctx api /v1/search -f q=bitcoin -f k=3\n" +
			"  ctx api /v1/cite -X POST -f ref=1 -i\n  ctx api /api/openapi -q .info.version",
	}, []string{cli.OpenFields}, func(ctx context.Context, args []string) error {
		o.path = args[0]
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringArrayVarP(&o.fields, "field", "f", nil,
		"add a parameter `name=value`; in a JSON body numbers, true, false and null are such")
	flags.StringVarP(&o.method, "method", "X", "", "HTTP `method` (default GET, or POST with --input)")
	cli.CompleteValues(c, "method", "GET", "POST", "PUT", "PATCH", "DELETE")
	flags.StringVar(&o.input, "input", "", "send this `file` as the body, - for stdin")
	flags.BoolVarP(&o.include, "include", "i", false, "also show the status line and the headers")
	return c
}

func (o apiOptions) run(ctx context.Context) error {
	request, err := o.request()
	if err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	resp, err := client.Do(ctx, request, o.Call(&meta)...)
	if resp == nil {
		return err
	}
	o.ReportMeta(&meta)
	if o.include {
		errPrint := o.printHead(resp)
		if errPrint == nil && err != nil {
			_, errPrint = fmt.Fprintf(o.Out, "%s\n", o.visible(resp.Body))
		}
		if errPrint != nil {
			return errPrint
		}
	}
	if err != nil {
		return err
	}
	if !json.Valid(resp.Body) {
		_, err := o.Out.Write(o.visible(resp.Body))
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: resp.Body, Piped: cli.JSON, Text: func(w io.Writer, _ int, _ cli.Style) error {
		var b bytes.Buffer
		if err := json.Indent(&b, resp.Body, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, human.Text(b.String()))
		return err
	}})
}

// request makes the call of the flags.
func (o apiOptions) request() (sdk.Request, error) {
	r := sdk.Request{Method: strings.ToUpper(o.method), Path: o.path}
	if !strings.HasPrefix(r.Path, "/") {
		r.Path = "/" + r.Path
	}
	if o.input != "" {
		body, err := o.read()
		if err != nil {
			return r, err
		}
		if r.Body = body; r.Method == "" {
			r.Method = http.MethodPost
		}
	}
	members := map[string]json.RawMessage{}
	query := url.Values{}
	for _, field := range o.fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return r, cli.Invalid("-f %q is not name=value", field)
		}
		query.Add(name, value)
		members[name] = typed(value)
	}
	if r.Body != nil || r.Method == "" || r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Query = query
		return r, nil
	}
	if len(members) > 0 {
		body, err := cli.Marshal(members)
		if err != nil {
			return r, err
		}
		r.Body = body
	}
	return r, nil
}

// typed is a value of a JSON body: a number, a boolean or null where it reads like one, else a string.
func typed(value string) json.RawMessage {
	if raw := json.RawMessage(value); json.Valid(raw) && !strings.ContainsAny(value[:1], "\"[{ \t\r\n") {
		return raw
	}
	text, _ := cli.Marshal(value) // a string always has a JSON form
	return text
}

func (o apiOptions) read() ([]byte, error) {
	in := o.In
	if o.input != "-" {
		f, err := os.Open(o.input)
		if err != nil {
			return nil, cli.Invalid("--input: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read --input: %w", err)
	}
	if len(body) == 0 {
		return nil, errors.New("read --input: it is empty")
	}
	return body, nil
}

// printHead writes the status line and the headers.
func (o apiOptions) printHead(resp *sdk.Response) error {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d %s\n", resp.Status, http.StatusText(resp.Status))
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, human.Line(value))
		}
	}
	_, err := fmt.Fprintln(o.Out, b.String())
	return err
}

// visible is body as it may go where stdout goes.
func (o apiOptions) visible(body []byte) []byte {
	if o.OutTTY {
		return []byte(human.Text(string(body)))
	}
	return body
}
