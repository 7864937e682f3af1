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
	return dir, errors.Join(
		copyTo(dir, binary), copyTo(dir, filepath.Join(r.root, "LICENSE")), copyTo(dir, filepath.Join(r.root, "README.md")),
		copyTo(filepath.Join(dir, "completions"), filepath.Join(r.root, "completions", t.program+".*")),
		copyTo(filepath.Join(dir, "man"), filepath.Join(man, "*")),
		put(filepath.Join(dir, "NOTICES"), text, 0o644))
}

// copyTo copies the files that pattern names into dir, readable for everybody and, if they are, executable.
func copyTo(dir, pattern string) error {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return errors.Join(err, fmt.Errorf("no file %s", pattern))
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := put(filepath.Join(dir, filepath.Base(file)), text, mode); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file with mode, whatever the umask, and makes its directory.
func put(file string, text []byte, mode fs.FileMode) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, mode), os.Chmod(file, mode))
}

// archive writes the directory stage to the file name with the extension of system: .zip for Windows, .tar.gz elsewhere.
func (r *release) archive(name, system, stage string) error {
	var archive bytes.Buffer
	zipped, compressed := zip.NewWriter(&archive), gzip.NewWriter(&archive)
	tarred := tar.NewWriter(compressed)
	err := fs.WalkDir(os.DirFS(stage), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(stage, file))
		if err != nil {
			return err
		}
		var w io.Writer = tarred
		if system == "windows" {
			h := &zip.FileHeader{Name: path.Join(name, file), Method: zip.Deflate, Modified: r.date}
			h.SetMode(info.Mode())
			w, err = zipped.CreateHeader(h)
		} else {
			err = tarred.WriteHeader(&tar.Header{
				Name: path.Join(name, file), Mode: int64(info.Mode()), Size: int64(len(text)),
				ModTime: r.date, Uname: "root", Gname: "root",
			})
		}
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	ext := ".zip"
	if system == "windows" {
		err = errors.Join(err, zipped.Close())
	} else {
		ext, err = ".tar.gz", errors.Join(err, tarred.Close(), compressed.Close())
	}
	return errors.Join(err, put(filepath.Join(r.out, name+ext), archive.Bytes(), 0o644))
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
		sum, err := fileSum(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// fileSum is the SHA-256 of a file, in hexadecimal.
func fileSum(file string) (string, error) {
	text, err := os.ReadFile(file)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}
