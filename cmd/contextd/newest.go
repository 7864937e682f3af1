package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
)

const (
	newestTimeout = 10 * time.Second
	newestBytes   = 1 << 20 // of an answer; a release with a hundred files takes a tenth of it
	releases      = "https://github.com/contextd/contextd/releases"
)

// newest is the newest release as address tells it: a document with tag_name, as GitHub, GitLab and Forgejo have it, or the version alone.
func newest(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, newestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", "contextd/"+build.Read().Version)
	client := http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
			return errors.New("it leads elsewhere")
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok { // which names the address
			err = asked.Err
		}
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, newestBytes))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %s", resp.Status)
	}
	var told struct {
		Tag string `json:"tag_name"`
	}
	if err := json.Unmarshal(text, &told); err != nil {
		told.Tag = strings.TrimSpace(string(text))
	}
	if version := "v" + strings.TrimPrefix(told.Tag, "v"); build.Newer(version, "v0.0.0-0") {
		return version, nil
	}
	return "", errors.New("it tells no version such as v1.2.3")
}

// newestFinding is the line of doctor on the version own, where the newest release is found at address.
func newestFinding(ctx context.Context, address, own string) doctor.Finding {
	f := doctor.Finding{Check: "release", Outcome: doctor.Warning}
	version, err := newest(ctx, address)
	switch {
	case err != nil:
		f.Found, f.Fix = fmt.Sprintf("updates.url does not tell the newest release: %v", err), "check updates.url, or remove it"
	case build.Newer(version, own):
		f.Found, f.Fix = fmt.Sprintf("%s is out, and this is %s", version, own), "read "+releases+", then install it"
	default:
		f.Outcome, f.Found = doctor.OK, fmt.Sprintf("this is %s, and the newest release is %s", own, version)
	}
	return f
}

// versionCheck is what version --check tells.
type versionCheck struct {
	cli.Version
	Newest string `json:"newest"` // release
	Newer  bool   `json:"newer"`  // than the running program
}

func newVersion(s *settings) *cobra.Command {
	own, view := cli.ReadVersion("contextd")
	c := &cobra.Command{
		Use: "version", Short: "Show the version of contextd", Args: cobra.NoArgs,
		Long: "Show the version of contextd and, with --check, whether there is a newer release. That is asked at updates.url,\n" +
			"which is empty unless you set it: contextd asks nobody by itself.",
		Example: "  contextd version\n  contextd version --check -o json",
	}
	check := c.Flags().Bool("check", false, "ask updates.url for a newer release")
	out := cli.AddOutput(c, cli.FieldsIn(versionCheck{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !*check {
			return out.Print(own, view)
		}
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		address := cfg.Updates.URL
		if address == "" {
			return cli.Invalid("updates.url is not set, so that nobody is asked for a newer release").
				WithHint("CONTEXTD_UPDATES_URL=https://api.github.com/repos/contextd/contextd/releases/latest contextd version --check")
		}
		if err := cfg.CheckUpdates(); err != nil {
			return err
		}
		version, err := newest(c.Context(), address)
		if err != nil {
			err = fmt.Errorf("ask updates.url for the newest release: %w", err)
			return &cli.Failure{Exit: cli.ExitFailure, Reason: "unreachable", Err: err,
				Hint: "check the address and the network; releases are at " + releases}
		}
		told := versionCheck{own, version, build.Newer(version, own.Info.Version)}
		return out.Print(told, cli.Answer{Piped: cli.Text, Text: func(w io.Writer, width int, style cli.Style) error {
			line := "The newest release is " + version + "."
			if told.Newer {
				line = version + " is out: " + releases
			}
			err := view.Text(w, width, style)
			_, writeErr := fmt.Fprintln(w, line)
			return errors.Join(err, writeErr)
		}})
	}
	return c
}
