package evidence

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Exported is what Export wrote.
type Exported struct {
	Log     string   `json:"log"`
	Seq     int64    `json:"seq"`
	Sources []string `json:"sources"` // with their bodies and documents
	LeftOut []Left   `json:"leftOut"`
}

// Left is a source that was left out.
type Left struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Export writes the evidence of a leaf for an auditor, a zip archive: the leaf, its state and those before that it was made from, and of
// each source the fetch, its bodies and its document. ReadExport reads it. Sources whose terms do not let their data be passed on are left
// out, unless all is set.
func (v Verifier) Export(ctx context.Context, seq int64, all bool, out io.Writer) (*Exported, error) {
	head, err := v.head(ctx)
	if err != nil {
		return nil, err
	}
	text, leaf, err := v.leaf(ctx, head, seq)
	if err != nil {
		return nil, err
	}
	w := zip.NewWriter(out)
	add := func(name string, text []byte) error {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: leaf.GeneratedAt})
		if err == nil {
			_, err = f.Write(text)
		}
		return err
	}
	said, err := v.History.PulseBefore(ctx, v.Pack.ID, leaf.GeneratedAt.Add(time.Millisecond))
	if err == nil {
		err = errors.Join(add(leafFile, text), add(stateFile, said.State))
	}
	if err != nil {
		return nil, err
	}
	if err := v.exportBefore(ctx, leaf.GeneratedAt, add); err != nil {
		return nil, err
	}
	told := &Exported{Log: head.Origin, Seq: seq, Sources: []string{}, LeftOut: []Left{}}
	for _, s := range leaf.Sources {
		why, err := v.exportSource(s, all, add)
		if err != nil {
			return nil, err
		}
		if why != "" {
			told.LeftOut = append(told.LeftOut, Left{s.ID, why})
			continue
		}
		told.Sources = append(told.Sources, s.ID)
	}
	list, err := json.MarshalIndent(told, "", "  ")
	if err == nil {
		err = add(contentsFile, list)
	}
	return told, errors.Join(err, w.Close())
}

// exportBefore adds the states that the one of a moment was made from.
func (v Verifier) exportBefore(ctx context.Context, at time.Time, add func(string, []byte) error) error {
	before, err := v.History.PulseBefore(ctx, v.Pack.ID, at)
	if errors.Is(err, state.ErrNoPulse) {
		return nil
	}
	if err != nil {
		return err
	}
	past, err := pipeline.Remembered(ctx, v.History, before)
	for _, p := range past {
		err = errors.Join(err, add(fmt.Sprintf("%s%d.json", beforeDir, p.GeneratedAt.UnixMilli()), p.State))
	}
	return err
}

// exportSource adds the evidence of a source, or says why not.
func (v Verifier) exportSource(s api.LogSource, all bool, add func(string, []byte) error) (why string, err error) {
	if use := v.use(s); !all && use.Redistribute != api.UseYes {
		return fmt.Sprintf("its terms on passing data on: %s", use.Redistribute), nil
	}
	f, ok := v.Store.Fetch(v.Pack.ID, s.ID, s.Doc, s.At)
	if !ok {
		return "not kept", nil
	}
	files := map[string][]byte{}
	for _, hash := range f.hashes() {
		text, err := v.Store.Text(hash)
		if hash == f.From && errors.Is(err, ErrGone) { // of before anything was kept
			continue
		}
		if err != nil {
			return fmt.Sprintf("%s… is %v", hash[:min(12, len(hash))], err), nil
		}
		files[hash] = text
	}
	line, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = add(s.ID+"/"+fetchFile, line)
	}
	for _, hash := range f.hashes() {
		if text, ok := files[hash]; ok && err == nil {
			err = add(s.ID+"/"+hash, text)
			delete(files, hash)
		}
	}
	return "", err
}

// use is what the terms of who answered allow.
func (v Verifier) use(s api.LogSource) (use api.Use) {
	i := slices.IndexFunc(v.Pack.Sources, func(p pack.Source) bool { return p.ID == s.ID })
	if i < 0 {
		return use
	}
	c := v.Pack.Sources[i].Connector
	for _, b := range c.Fallbacks {
		if b.Via == s.Via {
			return b.Use
		}
	}
	return c.Use
}
