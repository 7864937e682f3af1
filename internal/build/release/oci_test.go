package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/listing"
)

// untar is what is in a tar, by name, with the headers.
func untar(t *testing.T, text []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if dir := filepath.Dir(strings.TrimSuffix(h.Name, "/")) + "/"; dir != "./" && headers[dir] == nil {
			t.Errorf("%s comes before its directory", h.Name)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil || headers[h.Name] != nil {
			t.Fatalf("%s: %v, or there twice", h.Name, err)
		}
		headers[h.Name] = h
	}
}

// image is what is read back of a layout, of one platform.
type readImage struct {
	manifest imageManifest
	config   imageConfig
	layer    []byte // not compressed
}

// readLayout reads the layout in file back, by platform, and checks that every part is what others say of it and that there is no other.
func readLayout(t *testing.T, file string) (imageIndex, map[string]readImage) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := untar(t, text)
	blobs := 0
	read := func(d descriptor, into any) []byte {
		t.Helper()
		blobs++
		blob := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(blob)); got != d.Digest || len(blob) != d.Size {
			t.Fatalf("%s of %d bytes is %s of %d", d.Digest, d.Size, got, len(blob))
		}
		if into != nil {
			strict := json.NewDecoder(bytes.NewReader(blob))
			strict.DisallowUnknownFields()
			if err := strict.Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		return blob
	}
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout is %s", got)
	}
	var top, index imageIndex
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 || top.Manifests[0].MediaType != typeIndex {
		t.Fatalf("index.json is %s", files["index.json"])
	}
	read(top.Manifests[0], &index)
	images := map[string]readImage{}
	for _, d := range index.Manifests {
		var i readImage
		read(d, &i.manifest)
		read(i.manifest.Config, &i.config)
		z, err := gzip.NewReader(bytes.NewReader(read(i.manifest.Layers[0], nil)))
		if err == nil {
			i.layer, err = io.ReadAll(z)
		}
		if err != nil || !slices.Equal(i.config.RootFS.DiffIDs, []string{fmt.Sprintf("sha256:%x", sha256.Sum256(i.layer))}) {
			t.Errorf("diff_ids are %v, %v", i.config.RootFS.DiffIDs, err)
		}
		if *d.Platform != i.config.platform || d.MediaType != typeManifest || i.manifest.Config.MediaType != typeConfig || i.manifest.Layers[0].MediaType != typeLayer {
			t.Errorf("%+v is of %+v", d, i.config.platform)
		}
		images[d.Platform.OS+"/"+d.Platform.Architecture] = i
	}
	found := 0
	for name := range files {
		if strings.HasPrefix(name, "blobs/sha256/") && name != "blobs/sha256/" {
			found++
		}
	}
	if found != blobs {
		t.Errorf("%d blobs, of which %d are named", found, blobs)
	}
	top.Manifests[0].Platform = nil
	return top, images
}

// TestOCI reads the images back, for both kinds of machine: programs, modes, owners, what they say of themselves, and how they are run.
func TestOCI(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	for _, program := range []string{"contextd", "ctx"} {
		if err := r.oci(program, allTargets("linux", "amd64")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(r.out, program+"_1.2.3_oci.tar")
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.oci(program, allTargets("linux", "amd64")); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(file); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: written again it is another, %v", program, err)
		}
		top, images := readLayout(t, file)
		if got := top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "1.2.3" {
			t.Errorf("%s: the tag is %q", program, got)
		}
		if got := slices.Sorted(maps.Keys(images)); !slices.Equal(got, []string{"linux/amd64", "linux/arm64"}) {
			t.Errorf("%s: images for %v", program, got)
		}
		for on, i := range images {
			checkImage(t, r, program, on, i)
		}
		if text, err := command(t, r.out, "skopeo", "inspect", "--raw", "oci-archive:"+file); err != nil && !errors.Is(err, exec.ErrNotFound) ||
			err == nil && !strings.Contains(text, `"architecture":"arm64"`) {
			t.Errorf("skopeo: %v\n%s", err, text)
		}
	}
}

func checkImage(t *testing.T, r *release, program, on string, i readImage) {
	t.Helper()
	home := map[string]string{"contextd": "var/lib/contextd/", "ctx": "home/ctx/"}[program]
	files, headers := untar(t, i.layer)
	for name, h := range headers {
		want := int64(0o644)
		switch {
		case name == home:
			want = 0o700
		case name == "tmp/":
			want = 0o1777
		case h.Typeflag == tar.TypeDir, name == "usr/bin/"+program:
			want = 0o755
		}
		if owner := map[bool]int{true: imageUser}[name == home]; h.Mode != want || h.Uid != owner || h.Gid != owner || !h.ModTime.Equal(r.date) {
			t.Errorf("%s %s: %s has mode %o, of %d:%d, at %s", program, on, name, h.Mode, h.Uid, h.Gid, h.ModTime)
		}
	}
	if got := string(files["usr/bin/"+program]); !strings.Contains(got, program+"/"+on) {
		t.Errorf("%s %s holds the program %q", program, on, got)
	}
	doc := "usr/share/doc/" + program + "/"
	for _, name := range []string{"LICENSE", "NOTICES", program + "_1.2.3_" + strings.ReplaceAll(on, "/", "_") + ".cdx.json"} {
		if files[doc+name] == nil {
			t.Errorf("%s %s lacks %s", program, on, name)
		}
	}
	run := i.config.Config
	said := run.Labels["io.modelcontextprotocol.server.name"] + " " + i.manifest.Annotations["io.modelcontextprotocol.server.name"]
	want := map[string]string{"contextd": " ", "ctx": listing.Name + " " + listing.Name}[program]
	if said != want || run.Labels["org.opencontainers.image.revision"] != r.hash || run.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("%s %s says of itself %v and %v", program, on, run.Labels, i.manifest.Annotations)
	}
	cmd := map[string][]string{"contextd": {"serve"}, "ctx": {"mcp", "stdio"}}[program]
	if run.User != "65532:65532" || !slices.Equal(run.Entrypoint, []string{"/usr/bin/" + program}) || !slices.Equal(run.Cmd, cmd) {
		t.Errorf("%s %s is run as %s: %v %v", program, on, run.User, run.Entrypoint, run.Cmd)
	}
}

// TestContainerfile: the image of contextd is run as the one that Containerfile makes.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../.container/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	run := (&release{}).running("contextd")
	for _, line := range []string{
		"ENV " + strings.Join(run.Env, " "), "USER " + run.User, `ENTRYPOINT ["` + run.Entrypoint[0] + `"]`, `CMD ["` + run.Cmd[0] + `"]`,
		"VOLUME " + strings.Join(slices.Collect(maps.Keys(run.Volumes)), " "),
		"EXPOSE " + strings.TrimSuffix(strings.Join(slices.Collect(maps.Keys(run.ExposedPorts)), " "), "/tcp"),
	} {
		if !strings.Contains("\n"+string(text), "\n"+line+"\n") {
			t.Errorf("Containerfile has no line %s", line)
		}
	}
}

// TestRegistry: server.json names the bundles of the release by their hashes, its image by the tag, and a service only if there is one.
func TestRegistry(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	read := func() (s listing.Server) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(r.out, "server.json"))
		if err := errors.Join(err, json.Unmarshal(text, &s)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := r.registry(); err != nil {
		t.Fatal(err)
	}
	if s := read(); len(s.Packages) != 0 || len(s.Remotes) != 1 || s.Remotes[0].URL != "https://{host}/mcp" || s.Version != "1.2.3" {
		t.Errorf("without packages: %+v", s)
	}
	r.host = "https://context.example.org"
	if err := errors.Join(r.bundleDarwin(), r.bundleLinux(), r.bundleWindows(), r.oci("ctx", allTargets("linux", "amd64")), r.registry()); err != nil {
		t.Fatal(err)
	}
	s := read()
	got := map[string]string{}
	for _, p := range s.Packages {
		got[p.RegistryType+" "+p.Identifier] = p.FileSHA256
	}
	want := map[string]string{"oci ghcr.io/contextd/ctx:1.2.3": ""}
	for _, system := range []string{"darwin", "linux", "windows"} {
		sum, err := fileSum(filepath.Join(r.out, "ctx_1.2.3_"+system+".mcpb"))
		if err != nil {
			t.Fatal(err)
		}
		want["mcpb https://github.com/contextd/contextd/releases/download/v1.2.3/ctx_1.2.3_"+system+".mcpb"] = sum
	}
	if !maps.Equal(got, want) || len(s.Remotes) != 2 || s.Remotes[0].URL != "https://context.example.org/mcp" {
		t.Errorf("packages %v, remotes %+v", got, s.Remotes)
	}
}

// TestRootsInImage: an image has no certificates but those in its program.
func TestRootsInImage(t *testing.T) {
	t.Parallel()
	text, err := command(t, "../../..", "go", "list", "-deps", "./cmd/ctx")
	if err != nil || !strings.Contains(text, "golang.org/x/crypto/x509roots/fallback\n") {
		t.Errorf("ctx has no certificates: %v", err)
	}
}

// TestOCIWithoutProgram: what was not built is not in an image.
func TestOCIWithoutProgram(t *testing.T) {
	t.Parallel()
	r := builtRelease(t)
	if err := os.Remove(filepath.Join(r.work, "stage", "ctx_linux_arm64", "ctx")); err != nil {
		t.Fatal(err)
	}
	if err := r.oci("ctx", allTargets("linux", "amd64")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an image without its program: %v", err)
	}
}
