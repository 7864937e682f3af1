package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// stage puts what t ships into a directory of its own: the program, LICENSE, NOTICES, README.md, completions/ and man/, and returns
// the directory.
func (r *release) stage(ctx context.Context, t target, binary string, parts []part) (string, error) {
	man, err := r.manual(ctx, t.program)
	if err != nil {
		return "", err
	}
	text, err := notices(t.program, parts)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.work, "stage", t.program+"_"+t.os+"_"+t.arch)
	files := map[string]string{t.file(): binary}
	for _, name := range []string{"LICENSE", "README.md"} {
		files[name] = filepath.Join(r.root, name)
	}
	for from, to := range map[string]string{filepath.Join(r.root, "completions", t.program+".*"): "completions", filepath.Join(man, "*"): "man"} {
		found, err := filepath.Glob(from)
		if err != nil || len(found) == 0 {
			return "", errors.Join(err, fmt.Errorf("no file %s", from))
		}
		for _, file := range found {
			files[path.Join(to, filepath.Base(file))] = file
		}
	}
	for to, from := range files {
		if err := copyFile(filepath.Join(dir, to), from); err != nil {
			return "", err
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, "NOTICES"), text, 0o644)
}

// copyFile copies the file from to the file to, readable for everybody and, if from is, executable.
func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, text, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode) // whatever the umask
}

// archive writes the directory stage to the file name with the extension of system: .zip for Windows, .tar.gz elsewhere.
func (r *release) archive(name, system, stage string) error {
	write, ext := r.writeTar, ".tar.gz"
	if system == "windows" {
		write, ext = r.writeZip, ".zip"
	}
	f, err := os.Create(filepath.Join(r.out, name+ext))
	if err != nil {
		return err
	}
	return errors.Join(write(f, name, os.DirFS(stage)), f.Close())
}

// writeTar writes the files of stage, below the directory name, to w.
func (r *release) writeTar(w io.Writer, name string, stage fs.FS) error {
	z := gzip.NewWriter(w)
	archive := tar.NewWriter(z)
	err := eachFile(stage, func(file string, mode fs.FileMode, text []byte) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(name, file), Mode: int64(mode), Size: int64(len(text)), ModTime: r.date, Uname: "root", Gname: "root"}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		_, err := archive.Write(text)
		return err
	})
	return errors.Join(err, archive.Close(), z.Close())
}

// writeZip does the same as a zip file.
func (r *release) writeZip(w io.Writer, name string, stage fs.FS) error {
	archive := zip.NewWriter(w)
	err := eachFile(stage, func(file string, mode fs.FileMode, text []byte) error {
		h := &zip.FileHeader{Name: path.Join(name, file), Method: zip.Deflate, Modified: r.date}
		h.SetMode(mode)
		f, err := archive.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return err
	})
	return errors.Join(err, archive.Close())
}

// eachFile calls visit for every file of stage, in the order of their names.
func eachFile(stage fs.FS, visit func(file string, mode fs.FileMode, text []byte) error) error {
	return fs.WalkDir(stage, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(stage, file)
		if err != nil {
			return err
		}
		return visit(file, info.Mode().Perm(), text)
	})
}

// writeSums writes SHA256SUMS, as sha256sum --check reads it, over the files in dir.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}
