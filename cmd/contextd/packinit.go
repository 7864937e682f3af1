package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/cli"
)

type packInitOptions struct {
	url, file string
	offline   bool
	private   []string
}

// newPackInit makes the command that writes a manifest.
func newPackInit(s *settings) *cobra.Command {
	var o packInitOptions
	c := &cobra.Command{
		Use: "init NAME", Short: "Write a manifest to start from", Args: cobra.ExactArgs(1),
		Long: "Write a commented manifest to start from, as NAME.yaml in packs.dir. With --url, poll that address once and\n" +
			"guess the place of the rows in its JSON or feed, their key and their fields. Existing files are never\n" +
			"overwritten.",
		Example: "  contextd packs init my-coins --url 'https://api.example.org/coins?limit=100'\n" +
			"  contextd packs init sensors --url http://10.0.0.7/metrics.json --allow-private 10.0.0.7\n" +
			"  contextd packs init my-pack --file my-pack.yaml",
	}
	c.Flags().StringVar(&o.url, "url", "", "the `address` of a source that answers with JSON or a feed")
	c.Flags().StringVar(&o.file, "file", "", "write this `file` instead")
	c.Flags().BoolVar(&o.offline, "offline", false, "poll nothing: only put the address into the example")
	addPrivate(c, &o.private)
	c.RunE = func(c *cobra.Command, args []string) error { return s.initPack(c, o, args[0]) }
	return c
}

// addPrivate defines the flag for hosts on private addresses.
func addPrivate(c *cobra.Command, hosts *[]string) {
	c.Flags().StringSliceVar(hosts, "allow-private", nil, "a `host` on a private address that may be asked, beside packs.private_hosts")
}

func (s *settings) initPack(c *cobra.Command, o packInitOptions, name string) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	file := o.file
	if file == "" {
		file = filepath.Join(cfg.Packs.Directory(), name+".yaml")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return cli.Invalid("%s is there already, and stays as it is", file).WithHint("contextd packs lint %s", cli.Quoted(file))
	}
	address, answer := manifest.Example, []byte(nil)
	if o.url != "" {
		address = o.url
	}
	if o.url != "" && !o.offline {
		fmt.Fprintf(c.ErrOrStderr(), "asking %s\n", o.url)
		if answer, err = probe(c.Context(), o.url, slices.Concat(cfg.Packs.PrivateHosts, o.private)); err != nil {
			return sourceFailure(o.url, err.Error())
		}
	}
	text, err := manifest.Draft(name, address, answer)
	switch {
	case err != nil && answer == nil:
		return cli.Invalid("%w", err)
	case err != nil:
		return cli.Invalid("%w", err).WithHint("--offline, to write an example and edit it by hand")
	}
	if err := create(file, text); err != nil {
		return err
	}
	arg := cli.Quoted(file)
	if o.file == "" {
		arg = cli.Quoted(name)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %s\n\n  contextd packs lint %[2]s\n  contextd packs try %[2]s\n", file, arg)
	return err
}

// probe asks an address once, as a source of a manifest would.
func probe(ctx context.Context, address string, private []string) (body []byte, err error) {
	d := source.Declared{ID: "look", Interval: time.Hour, StaleAfter: time.Hour, URL: address}
	d.Decode = func(_ context.Context, a source.Answer, _ *source.RowsDoc) (*source.RowsDoc, int, error) {
		body = a.Body
		return &source.RowsDoc{Rows: make([]source.DeclaredRow, 1)}, 0, nil
	}
	out := source.NewFetcher(source.Config{PrivateHosts: private}).Fetch(ctx, d.Connector(), nil)
	return body, out.Err
}
