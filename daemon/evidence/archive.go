package evidence

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Files of an export, beside a directory for each source.
const (
	leafFile     = "leaf.json"
	stateFile    = "state.json"
	contentsFile = "contents.json"
	fetchFile    = "fetch.json"
	beforeDir    = "before/" // states, each by when it was made, in milliseconds
)

// Bounds of a file that an auditor is given, uncompressed.
const (
	mostInFile = 64 << 20
	mostInAll  = 1 << 30
)

// Archive is what Export wrote.
type Archive struct {
	History  // none, but for PulseBefore
	Leaf     api.LogLeaf
	text     []byte // of the leaf
	contents Exported
	pulses   []state.Pulse // the newest first
	fetches  map[string]Fetch
	blobs    map[string][]byte // by the hash that their names say
}

var (
	_ History = (*Archive)(nil)
	_ Bodies  = (*Archive)(nil)
)

// errAltered says that what a file has under a hash has another.
var errAltered = errors.New("changed in the file")

// ReadExport reads what Export wrote, from a file of a size. It needs nothing else, and asks nobody.
func ReadExport(file io.ReaderAt, size int64) (*Archive, error) {
	packed, err := zip.NewReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("it is no export of evidence: %w", err)
	}
	a := &Archive{fetches: map[string]Fetch{}, blobs: map[string][]byte{}}
	left := int64(mostInAll)
	for _, f := range packed.File {
		text, err := readFile(f, min(left, mostInFile))
		if left -= int64(len(text)); errors.Is(err, errTooMuch) {
			return nil, fmt.Errorf("%q of the file is too large", f.Name)
		}
		damaged := err // what is found out of a body by its hash
		if err := a.take(f.Name, text, damaged); err != nil {
			return nil, fmt.Errorf("read %q of the file: %w", f.Name, err)
		}
	}
	if a.text == nil || a.pulses == nil || a.contents.Log == "" {
		return nil, fmt.Errorf("it is no export of evidence: it has no %s, %s or %s", leafFile, stateFile, contentsFile)
	}
	for i := range a.pulses {
		if a.pulses[i].Pack = a.Leaf.Pack; a.pulses[i].GeneratedAt.IsZero() {
			a.pulses[i].GeneratedAt = a.Leaf.GeneratedAt
		}
	}
	slices.SortFunc(a.pulses, func(a, b state.Pulse) int { return cmp.Compare(b.GeneratedAt.UnixMilli(), a.GeneratedAt.UnixMilli()) })
	return a, nil
}

var errTooMuch = errors.New("too large")

func readFile(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(text)) > most {
		return nil, errTooMuch
	}
	return text, err
}

// take takes what a file in the archive has.
func (a *Archive) take(name string, text []byte, damaged error) error {
	dir, base := path.Split(name)
	millis, isState := strings.CutSuffix(base, ".json")
	switch {
	case dir != "" && dir != beforeDir && base != fetchFile:
		a.blobs[base] = text
		return nil
	case damaged != nil:
		return damaged
	case name == leafFile:
		a.text = text
		return json.Unmarshal(text, &a.Leaf)
	case name == contentsFile:
		return json.Unmarshal(text, &a.contents)
	case name == stateFile:
		a.pulses = append(a.pulses, state.Pulse{State: text})
	case dir == beforeDir && isState:
		at, err := strconv.ParseInt(millis, 10, 64)
		a.pulses = append(a.pulses, state.Pulse{State: text, GeneratedAt: time.UnixMilli(at).UTC()})
		return err
	case base == fetchFile:
		var f Fetch
		err := json.Unmarshal(text, &f)
		a.fetches[path.Clean(dir)] = f
		return err
	}
	return nil
}

// Verify is that of a Verifier, of what is in the file alone.
func (a *Archive) Verify(ctx context.Context, p *pack.Pack, w brief.Writer) (*Report, error) {
	if a.Leaf.Kind != api.LeafState || a.Leaf.Pack != p.ID {
		return nil, fmt.Errorf("the leaf in the file is not of a state of pack %s", p.ID)
	}
	v := Verifier{Pack: p, Writer: w, History: a, Store: a, left: a.contents.LeftOut}
	return v.verify(ctx, a.contents.Log, a.text, a.Leaf)
}

// PulseBefore is the newest state in the file from before t.
func (a *Archive) PulseBefore(_ context.Context, _ string, t time.Time) (state.Pulse, error) {
	for _, p := range a.pulses {
		if p.GeneratedAt.Before(t) {
			return p, nil
		}
	}
	return state.Pulse{}, state.ErrNoPulse
}

// Text is what the file has under a hash.
func (a *Archive) Text(hash string) ([]byte, error) {
	text, ok := a.blobs[hash]
	switch {
	case !ok:
		return nil, ErrGone
	case Hash(text) != hash:
		return nil, errAltered
	}
	return text, nil
}

// Fetch is that which brought a document of a source.
func (a *Archive) Fetch(pack, id, doc string, at time.Time) (Fetch, bool) {
	f, ok := a.fetches[id]
	return f, ok && f.Pack == pack && f.Source == id && f.Doc == doc && f.At.Equal(at)
}
