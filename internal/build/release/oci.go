package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/contextd/contextd/internal/listing"
)

// Media types of the specification of OCI images.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor is what one part of an image says of another.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// imageIndex names the images of several platforms, or what a layout holds.
type imageIndex struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type imageConfig struct {
	Created time.Time `json:"created"`
	platform
	Config  imageRun  `json:"config"`
	RootFS  rootFS    `json:"rootfs"`
	History []history `json:"history"`
}

// imageRun is how a container of the image is run.
type imageRun struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	Volumes      map[string]struct{} `json:"Volumes,omitempty"`
	Labels       map[string]string   `json:"Labels"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// running is how containers of a program are run: contextd as .container/Containerfile says, ctx as a server of MCP on stdin and stdout.
func (r *release) running(program string) imageRun {
	run := imageRun{User: "65532:65532", Entrypoint: []string{"/usr/bin/" + program}, Labels: r.labels(program)}
	if program == "ctx" {
		run.Env, run.Cmd = []string{"HOME=/home/ctx"}, []string{"mcp", "stdio"}
		return run
	}
	run.Env, run.Cmd = []string{"CONTEXTD_DATA_DIR=/var/lib/contextd", "CONTEXTD_LISTEN=0.0.0.0:8402"}, []string{"serve"}
	run.ExposedPorts, run.Volumes = map[string]struct{}{"8402/tcp": {}}, map[string]struct{}{"/var/lib/contextd": {}}
	return run
}

// labels are what an image says of itself.
func (r *release) labels(program string) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title": program, "org.opencontainers.image.version": r.number(),
		"org.opencontainers.image.source": repository, "org.opencontainers.image.revision": r.hash,
		"org.opencontainers.image.created":     r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0 AND LGPL-3.0-or-later AND MPL-2.0",
		"org.opencontainers.image.description": "continuous context for AI agents, self-hosted",
	}
	if program == "ctx" {
		labels["org.opencontainers.image.description"] = "client of contextd, the context service for AI agents"
		labels["io.modelcontextprotocol.server.name"] = listing.Name // or the registry does not take it
	}
	return labels
}

// layout is a layout of OCI in memory: its files, in the order in which they were added.
type layout struct{ files []member }

// add adds a blob and returns what others say of it.
func (l *layout) add(mediaType string, text []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	l.files = append(l.files, member{"blobs/sha256/" + sum, text, 0o644})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(text)}
}

// addJSON adds a blob that is a document.
func (l *layout) addJSON(mediaType string, doc any) (descriptor, error) {
	text, err := json.Marshal(doc)
	return l.add(mediaType, text), err
}

// oci writes the image of a program, for every machine of targets with Linux, as a layout of OCI in a tar. Its parts are the same at every
// registry, so that the digest that is told holds wherever it is published.
func (r *release) oci(program string, targets []target) error {
	var l layout
	index := imageIndex{SchemaVersion: 2, MediaType: typeIndex, Annotations: r.labels(program)}
	for _, t := range targets {
		if t.program != program || t.os != "linux" {
			continue
		}
		d, err := r.imageOf(t, &l)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, d)
	}
	d, err := l.addJSON(typeIndex, index)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.log, "  image of %s is %s\n", program, d.Digest)
	d.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.tag()}
	top, err := json.Marshal(imageIndex{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{d}})
	if err != nil {
		return err
	}
	l.files = append(l.files, member{"index.json", top, 0o644}, member{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644})
	var entries []entry
	for _, dir := range []string{"blobs/", "blobs/sha256/"} {
		entries = append(entries, entry{member: member{dir, nil, fs.ModeDir | 0o755}})
	}
	for _, m := range l.files {
		entries = append(entries, entry{member: m})
	}
	text, err := r.tar(entries)
	return errors.Join(err, put(r.ociFile(program), text, 0o644))
}

// imageOf adds the image of t to l.
func (r *release) imageOf(t target, l *layout) (descriptor, error) {
	entries, err := r.imageEntries(t)
	if err != nil {
		return descriptor{}, err
	}
	tarred, err := r.tar(entries)
	if err != nil {
		return descriptor{}, err
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(tarred); err != nil {
		return descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, err
	}
	layer := l.add(typeLayer, compressed.Bytes())
	on := platform{Architecture: t.arch, OS: t.os}
	config, err := l.addJSON(typeConfig, imageConfig{Created: r.date, platform: on, Config: r.running(t.program),
		RootFS:  rootFS{"layers", []string{fmt.Sprintf("sha256:%x", sha256.Sum256(tarred))}},
		History: []history{{r.date, "release of " + module + " " + r.version}}})
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.addJSON(typeManifest, imageManifest{SchemaVersion: 2, MediaType: typeManifest, Config: config, Layers: []descriptor{layer},
		Annotations: r.labels(t.program)})
	d.Platform = &on
	return d, err
}

// tar is an archive of entries, each of root's or the image's user's.
func (r *release) tar(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: int64(e.mode.Perm()), Size: int64(len(e.text)), ModTime: r.date,
			Format: tar.FormatUSTAR}
		if e.mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if e.own {
			h.Uid, h.Gid = imageUser, imageUser
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
