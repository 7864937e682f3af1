package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextd/contextd/internal/listing"
)

// ctxImage is where the image of ctx is published.
const ctxImage = "ghcr.io/contextd/ctx"

// tag is the version as images have it: no tag has a +.
func (r *release) tag() string { return strings.ReplaceAll(r.number(), "+", "-") }

// ociFile is the layout with the image of a program.
func (r *release) ociFile(program string) string {
	return filepath.Join(r.out, program+"_"+r.number()+"_oci.tar")
}

// registry writes server.json, with which the owner lists the server in the registry of MCP, for the bundles and the image of ctx that are
// there, and the service at the host.
func (r *release) registry() error {
	bundles, err := filepath.Glob(filepath.Join(r.out, "*.mcpb"))
	if err != nil {
		return err
	}
	var packages []listing.Package
	for _, file := range bundles {
		sum, err := fileSum(file)
		if err != nil {
			return err
		}
		packages = append(packages, listing.Bundle(repository+"/releases/download/"+r.version+"/"+filepath.Base(file), sum))
	}
	_, err = os.Stat(r.ociFile("ctx"))
	switch {
	case err == nil:
		packages = append(packages, listing.Image(ctxImage+":"+r.tag()))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := json.MarshalIndent(listing.Registry(r.number(), r.host, packages...), "", "  ")
	return errors.Join(err, put(filepath.Join(r.out, "server.json"), append(text, '\n'), 0o644))
}
