package backup_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/store"
)

// entry is a file in an archive.
type entry struct {
	head tar.Header
	text []byte
}

// contents unpacks an archive: the manifest, then the files.
func contents(t *testing.T, archive []byte) []entry {
	t.Helper()
	plain, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var list []entry
	for r := tar.NewReader(plain); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{*head, text})
	}
}

// pack makes an archive of entries, well compressed whatever they say, with tail behind the end of the tar.
func pack(t *testing.T, list []entry, tail int) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(packed)
	for _, e := range list {
		head := tar.Header{Name: e.head.Name, Typeflag: e.head.Typeflag, Linkname: e.head.Linkname, Mode: 0o600, Size: e.head.Size, Format: tar.FormatPAX}
		if err := w.WriteHeader(&head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.text); err != nil {
			t.Fatal(err)
		}
		if head.Size > int64(len(e.text)) { // claimed and not there: the archive ends here
			if err := packed.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Write(make([]byte, tail)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// lie is a way in which an archive is well formed and wrong.
type lie struct {
	manifest func(m *backup.Manifest)
	entries  func(list []entry) []entry // the manifest is the first
	tail     int
	want     error
	says     string
}

func lies() map[string]lie {
	none := func(*backup.Manifest) {}
	same := func(list []entry) []entry { return list }
	called := func(name string) func(m *backup.Manifest) { return func(m *backup.Manifest) { m.Files[2].Name = name } }
	return map[string]lie{
		"another checksum":  {manifest: func(m *backup.Manifest) { m.Files[0].SHA256 = strings.Repeat("0", 64) }, says: "checksum of contextd.db"},
		"no checksum":       {manifest: func(m *backup.Manifest) { m.Files[1].SHA256 = "" }, says: "checksum of history.db"},
		"a byte more":       {manifest: func(m *backup.Manifest) { m.Files[0].Size++ }, says: "where its manifest has"},
		"a byte less":       {manifest: func(m *backup.Manifest) { m.Files[0].Size-- }, says: "where its manifest has"},
		"less than nothing": {manifest: func(m *backup.Manifest) { m.Files[0].Size = -1 }, says: "no place"},
		"another order":     {manifest: func(m *backup.Manifest) { slices.Reverse(m.Files) }, says: "where its manifest has"},
		"a file twice":      {manifest: func(m *backup.Manifest) { m.Files[1] = m.Files[0] }, says: "no place"},
		"outside":           {manifest: called("../quote.keys"), says: "no place"},
		"absolute":          {manifest: called("/tmp/quote.keys"), says: "no place"},
		"hidden":            {manifest: called(".quote.keys"), says: "no place"},
		"a program":         {manifest: called("contextd.sh"), says: "no place"},
		"one that is not there": {manifest: func(m *backup.Manifest) {
			m.Files = append(m.Files, backup.Entry{Name: "more.keys"})
		}, says: "ends in the middle"},
		"one that is not listed": {manifest: func(m *backup.Manifest) { m.Files = m.Files[:2] }, says: "more in it"},
		"no books": {manifest: func(m *backup.Manifest) { m.Files = m.Files[1:] },
			entries: func(list []entry) []entry { return slices.Delete(list, 1, 2) }, says: "contextd.db is not in it"},
		"a link": {entries: func(list []entry) []entry {
			list[3].head.Typeflag, list[3].head.Linkname, list[3].head.Size, list[3].text = tar.TypeSymlink, "/etc/passwd", 0, nil
			return list
		}, manifest: func(m *backup.Manifest) { m.Files[2].Size = 0 }, says: "where its manifest has"},
		"another name":  {entries: func(list []entry) []entry { list[3].head.Name = "../../quote.keys"; return list }, says: "where its manifest has"},
		"manifest last": {entries: func(list []entry) []entry { return append(list[1:], list[0]) }, says: "begin with a manifest"},
		"manifest of a MiB": {entries: func(list []entry) []entry {
			list[0].text = append(list[0].text, bytes.Repeat([]byte(" "), 1<<20)...)
			return list
		}, says: "begin with a manifest"},
		"manifest of nothing": {entries: func(list []entry) []entry { list[0].text = nil; return list }, says: "its manifest"},
		"another format":      {manifest: func(m *backup.Manifest) { m.Format = 99 }, want: errAny, says: "format 99"},
		"a tail":              {entries: same, tail: 2 << 20, says: "more in it"},
		"a disk and more": {manifest: func(m *backup.Manifest) { m.Files[0].Size = 1 << 60 },
			entries: func(list []entry) []entry { list[1].head.Size = 1 << 60; return list[:2] }, want: backup.ErrRoom, says: "no room"},
		"more than can be counted": {manifest: func(m *backup.Manifest) { m.Files[0].Size, m.Files[1].Size = math.MaxInt64, math.MaxInt64 },
			want: backup.ErrRoom, says: "no room"},
		"an end in a file": {manifest: none, entries: func(list []entry) []entry { list[1].text = list[1].text[:5000]; return list[:2] }, says: "ends in the middle"},
	}
}

var errAny = errors.New("any error")

// TestLies: archives whose compression and layout are flawless, so that no checksum but ours can tell. None touches the directory.
func TestLies(t *testing.T) {
	t.Parallel()
	d := newData(t)
	d.writeAll(0, 3)
	whole := backUp(t, d.dir)
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := contents(t, whole)
			if lie.entries == nil {
				lie.entries = func(list []entry) []entry { return list }
			}
			var m backup.Manifest
			if err := json.Unmarshal(list[0].text, &m); err != nil {
				t.Fatal(err)
			}
			if lie.manifest != nil {
				lie.manifest(&m)
			}
			var err error
			if list[0].text, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			list = lie.entries(list)
			for i := range list {
				if list[i].head.Name == "manifest.json" {
					list[i].head.Size = int64(len(list[i].text))
				}
			}
			archive, dir := pack(t, list, lie.tail), t.TempDir()
			_, err = backup.Restore(t.Context(), bytes.NewReader(archive), dir, epoch(), func(backup.Unpacked) error {
				t.Error("it was taken for whole")
				return errAny
			})
			if lie.want == nil {
				lie.want = backup.ErrDamaged
			}
			if err == nil || lie.want != errAny && !errors.Is(err, lie.want) || !strings.Contains(err.Error(), lie.says) {
				t.Errorf("%v, want %v with %q", err, lie.want, lie.says)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
	if dir := restore(t, pack(t, contents(t, whole), 1<<20-1024)); dir == "" { // packed again, and true
		t.Error("a true archive")
	}
}

// TestForeignPrograms: a database that would do something by itself is not opened, though its structure is sound and its checksum right.
func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"CREATE TRIGGER mine AFTER UPDATE ON schema_migrations BEGIN DELETE FROM schema_migrations; END",
		"CREATE VIEW mine AS SELECT * FROM schema_migrations",
		"CREATE VIRTUAL TABLE mine USING rtree(id, low, high)",
	} {
		d := newData(t)
		d.writeAll(0, 3)
		list := contents(t, backUp(t, d.dir))
		path := filepath.Join(t.TempDir(), store.File)
		if err := os.WriteFile(path, list[1].text, 0o600); err != nil {
			t.Fatal(err)
		}
		db := connect(t, path)
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		var m backup.Manifest
		var err error
		if list[1].text, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(list[0].text, &m); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(list[1].text)
		m.Files[0].Size, m.Files[0].SHA256 = int64(len(list[1].text)), hex.EncodeToString(sum[:])
		list[1].head.Size = m.Files[0].Size
		if list[0].text, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		list[0].head.Size = int64(len(list[0].text))
		_, err = backup.Unpack(t.Context(), bytes.NewReader(pack(t, list, 0)), t.TempDir(), epoch())
		if !errors.Is(err, backup.ErrBroken) || !strings.Contains(err.Error(), `"mine" is not this program's`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
