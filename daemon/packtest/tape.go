package packtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
)

// shippedTicks is how many ticks are recorded of the packs of the program.
const shippedTicks = 3

// shipped plays what is recorded of the packs of the program.
type shipped struct{ *replay.Recording }

// Shipped is the Tape of the packs that are part of the program.
func Shipped() Tape {
	return shipped{replay.New(func() time.Time { return time.Unix(0, 0) })}
}

// SeekTick implements Tape.
func (s shipped) SeekTick(tick int) (at time.Time, ok bool) {
	if tick > shippedTicks {
		return at, false
	}
	for s.Tick() != tick {
		s.Advance()
	}
	return time.Unix(0, 0).Add(-s.Shift("")).UTC(), true
}

type recordedTick struct {
	At      time.Time         `json:"at"`
	Answers map[string]string `json:"answers"` // files in the directory, by source

	bodies map[string][]byte
}

// directory is a Tape of files: tick1.json says when the first tick was recorded and which file has the answer of which source.
type directory struct {
	ticks []recordedTick
	tick  int // index into ticks
}

// Directory reads the Tape of a directory.
func Directory(dir string) (Tape, error) {
	d := &directory{}
	for {
		t, err := readTick(dir, len(d.ticks)+1)
		if errors.Is(err, fs.ErrNotExist) && len(d.ticks) > 0 {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		if len(d.ticks) > 0 && !t.At.After(d.ticks[len(d.ticks)-1].At) {
			return nil, fmt.Errorf("tick %d of %s is not later than the one before", len(d.ticks)+1, dir)
		}
		d.ticks = append(d.ticks, t)
	}
}

// tickFile is the file of a tick, counted from 1.
func tickFile(dir string, tick int) string {
	return filepath.Join(dir, fmt.Sprintf("tick%d.json", tick))
}

func readTick(dir string, tick int) (t recordedTick, err error) {
	text, err := os.ReadFile(tickFile(dir, tick))
	if err != nil {
		return t, fmt.Errorf("read recording: %w", err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("read %s: %w", tickFile(dir, tick), err)
	}
	t.bodies = make(map[string][]byte, len(t.Answers))
	for id, name := range t.Answers {
		if !filepath.IsLocal(name) {
			return t, fmt.Errorf("%s names %q, which is outside of its directory", tickFile(dir, tick), name)
		}
		if t.bodies[id], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return t, fmt.Errorf("the answer of %s in %s is missing: %s", id, tickFile(dir, tick), filepath.Join(dir, name))
		}
	}
	return t, nil
}

// SeekTick implements Tape.
func (d *directory) SeekTick(tick int) (at time.Time, ok bool) {
	if tick < 1 || tick > len(d.ticks) {
		return at, false
	}
	d.tick = tick - 1
	return d.ticks[d.tick].At, true
}

// RoundTrip answers with what is recorded of the source that is asked, 404 if that is nothing.
func (d *directory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, known := d.ticks[d.tick].bodies[asked(req)]
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: make(http.Header), Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if !known {
		resp.StatusCode = http.StatusNotFound
	}
	return resp, nil
}

// Record writes answers as the next tick of a directory, and returns which one that is.
func Record(dir string, m *manifest.Manifest, at time.Time, answers map[string][]byte) (tick int, err error) {
	for tick = 1; ; tick++ {
		if _, err := os.Stat(tickFile(dir, tick)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return 0, fmt.Errorf("look for recordings: %w", err)
		}
	}
	t := recordedTick{At: at.UTC().Truncate(time.Second), Answers: make(map[string]string)}
	if tick > 1 {
		before, err := readTick(dir, tick-1)
		if err != nil {
			return 0, err
		}
		if !t.At.After(before.At) {
			t.At = before.At.Add(time.Second)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("tick%d", tick)), 0o755); err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	for id, body := range answers {
		t.Answers[id] = filepath.ToSlash(filepath.Join(fmt.Sprintf("tick%d", tick), id+extension(m, id)))
		if err := os.WriteFile(filepath.Join(dir, t.Answers[id]), body, 0o644); err != nil {
			return 0, fmt.Errorf("record answer: %w", err)
		}
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return 0, fmt.Errorf("encode recording: %w", err)
	}
	if err := os.WriteFile(tickFile(dir, tick), append(text, '\n'), 0o644); err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	return tick, nil
}

// extension is that of the files with answers of a source.
func extension(m *manifest.Manifest, id string) string {
	switch format := source.Format(declared(m, id).Format); format {
	case source.FormatRSS, source.FormatAtom:
		return ".xml"
	case source.FormatText:
		return ".txt"
	default:
		return "." + string(format)
	}
}

// expected are the files that say what a tick made, with what they are to hold.
func (t Tick) expected(dir string, tick int) (map[string]string, error) {
	var state bytes.Buffer
	if err := json.Indent(&state, t.State, "", " "); err != nil {
		return nil, fmt.Errorf("indent state: %w", err)
	}
	name := filepath.Join(dir, fmt.Sprintf("tick%d", tick))
	return map[string]string{name + ".state.json": state.String() + "\n", name + ".brief.txt": t.Brief + "\n"}, nil
}

// Compare compares what the recorded ticks made with what a directory keeps of the last time. missing are the files that are not there.
func Compare(dir string, r Report) (findings []Finding, missing []string, err error) {
	for i, t := range r.Ticks {
		expected, err := t.expected(dir, i+1)
		if err != nil {
			return nil, nil, err
		}
		for file, got := range expected {
			kept, err := os.ReadFile(file)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				missing = append(missing, file)
			case err != nil:
				return nil, nil, fmt.Errorf("read what is expected: %w", err)
			case string(kept) != got:
				findings = append(findings, Finding{Check: "expected", Tick: i + 1, Text: differs(file, string(kept), got)})
			}
		}
	}
	return findings, missing, nil
}

// Save writes what the recorded ticks made into a directory, for Compare.
func Save(dir string, r Report) error {
	for i, t := range r.Ticks {
		expected, err := t.expected(dir, i+1)
		if err != nil {
			return err
		}
		for file, text := range expected {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return fmt.Errorf("keep what is expected: %w", err)
			}
		}
	}
	return nil
}

// differs tells the first line that is another one.
func differs(file, kept, got string) string {
	was, is := bytes.Split([]byte(kept), []byte("\n")), bytes.Split([]byte(got), []byte("\n"))
	for i := range max(len(was), len(is)) {
		var a, b []byte
		if i < len(was) {
			a = bytes.TrimSpace(was[i])
		}
		if i < len(is) {
			b = bytes.TrimSpace(is[i])
		}
		if !bytes.Equal(a, b) {
			return fmt.Sprintf("%s, line %d: %.120s; it was %.120s", file, i+1, b, a)
		}
	}
	return file + " differs in white space"
}
