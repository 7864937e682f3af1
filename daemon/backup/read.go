package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/datadir"
)

// ErrDamaged is in the chain of the error for an archive that is not whole, or no backup at all.
var ErrDamaged = errors.New("this is not a whole backup")

// ErrRoom is in the chain of the error for a backup that is larger unpacked than the disk has room for.
var ErrRoom = errors.New("there is no room for the backup")

const (
	maxManifest = 1 << 20  // bytes
	maxWindow   = 64 << 20 // of the compression, in bytes: what a foreign archive may make us keep
	maxTail     = 1 << 20  // bytes behind the last file, which a foreign archive may fill up to a block
	spare       = 64 << 20 // bytes that are left free for migrations
)

// Check reads a whole archive and compares every file in it with the manifest.
func Check(r io.Reader) (Manifest, error) { return read(r, "") }

// unpack is Check, and writes the files into dir.
func unpack(r io.Reader, dir string) (Manifest, error) { return read(r, dir) }

// read reads an archive, and writes its files into dir unless that is "".
func read(r io.Reader, dir string) (m Manifest, err error) {
	plain, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return m, fmt.Errorf("decompress backup: %w", err)
	}
	defer plain.Close()
	archive := tar.NewReader(plain)
	if m, err = readManifest(archive); err != nil {
		return m, err
	}
	if dir != "" {
		if err := m.fit(dir); err != nil {
			return m, err
		}
	}
	for _, want := range m.Files {
		head, err := archive.Next()
		if err != nil {
			return m, damaged(err)
		}
		if head.Name != want.Name || head.Size != want.Size || head.Typeflag != tar.TypeReg {
			return m, fmt.Errorf("%w: it has %q of %d bytes where its manifest has %q of %d",
				ErrDamaged, head.Name, head.Size, want.Name, want.Size)
		}
		if err := readFile(archive, want, dir); err != nil {
			return m, err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: there is more in it than its manifest says", ErrDamaged)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(plain, maxTail+1)) // up to the last checksum
	if err != nil {
		return m, damaged(err)
	}
	if n > maxTail {
		return m, fmt.Errorf("%w: there is more in it than its manifest says", ErrDamaged)
	}
	return m, nil
}

// fit reports whether the files of m, and some more, have room in dir.
func (m Manifest) fit(dir string) error {
	free, err := datadir.Free(dir)
	if err != nil {
		return err
	}
	left := free - spare
	for _, f := range m.Files {
		if left -= f.Size; left < 0 {
			return fmt.Errorf("%w: what is in it needs more than the %d MB that are free in %s", ErrRoom, free>>20, dir)
		}
	}
	return nil
}

// damaged is err as the fault of the archive, unless it is one of the file that it is read from or written to.
func damaged(err error) error {
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("read backup: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends in the middle", ErrDamaged)
	}
	if errors.Is(err, zstd.ErrMagicMismatch) {
		return fmt.Errorf("%w: it is not compressed with zstd", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func readManifest(archive *tar.Reader) (m Manifest, err error) {
	head, err := archive.Next()
	if err != nil {
		return m, damaged(err)
	}
	if head.Name != manifestName || head.Size > maxManifest {
		return m, fmt.Errorf("%w: it does not begin with a manifest", ErrDamaged)
	}
	text, err := io.ReadAll(archive)
	if err != nil {
		return m, damaged(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w: its manifest: %w", ErrDamaged, err)
	}
	if m.Format != Format {
		return m, fmt.Errorf("the backup has format %d, this program knows %d: use the contextd that made it (%s)",
			m.Format, Format, m.Program)
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		if !slices.Contains(Files(), f.Name) && !others.MatchString(f.Name) || seen[f.Name] || f.Size < 0 {
			return m, fmt.Errorf("%w: there is no place for %q", ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	return m, nil
}

// readFile reads one file and compares it, and writes it into dir unless that is "".
func readFile(r io.Reader, want Entry, dir string) (err error) {
	h := sha256.New()
	w := io.Writer(h)
	if dir != "" {
		f, err := os.OpenFile(filepath.Join(dir, want.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("unpack backup: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = io.MultiWriter(h, f)
	}
	if _, err := io.Copy(w, r); err != nil {
		return damaged(err)
	}
	if hex.EncodeToString(h.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%w: the checksum of %s is wrong", ErrDamaged, want.Name)
	}
	return nil
}
