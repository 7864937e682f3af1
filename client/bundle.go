package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

const bundleFlag = "write the answer and its proof to this `file`, for ctx verify"

// writable refuses the file of a flag that no bundle can be written to, before a call that may cost.
func writable(flag, file string) error {
	if file == "-" {
		return cli.Invalid("%s takes the name of a file: standard output has the answer", flag)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return cli.Invalid("%s: %s is a directory", flag, file)
	}
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return cli.Invalid("%s: %w", flag, err)
	}
	return nil
}

// writeBundle writes an answer and what proves it to a file, once it holds.
func writeBundle(ctx context.Context, logs *logs, flag, file, pack string, state *api.StateResponse, basis *api.CheckBasis,
	meta *sdk.Response,
) error {
	named, err := api.ParseProof(meta.Header.Get(api.HeaderProof))
	if err != nil {
		return unproved(file)
	}
	p := logs.Last(pack, named.Seq)
	if p == nil {
		fetch := func(l *sdk.Log) (*api.LogEntry, error) { return l.Leaf(ctx, named.Seq) }
		if p, _, err = logs.See(ctx, pack, fetch); err != nil {
			return err
		}
	}
	b := sdk.Bundle{LogEntry: p.Entry, Check: basis, State: state.State}
	if state.Brief != "" && p.IsOfBrief(state.Brief) == nil { // a later text has a leaf of its own
		b.Brief = state.Brief
	}
	text, err := b.Encode()
	if err != nil {
		return err
	}
	if _, _, err := sdk.VerifyBundle(text, p.Checkpoint.Key); err != nil {
		return err
	}
	if err := atomicfile.Write(file, text, 0o644); err != nil {
		return cli.Invalid("%s: %w", flag, err)
	}
	return nil
}

// unproved is the failure to write a bundle of what has no proof.
func unproved(file string) error {
	return &cli.Failure{Exit: cli.ExitUnproven, Reason: "no_proof",
		Err: fmt.Errorf("the service gives no proof of this answer: %s was not written", file)}
}

// compacted is a document without white space between its values.
func compacted(doc []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, doc)
	return b.Bytes(), err
}
