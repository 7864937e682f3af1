package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
)

const (
	bundleWait = 5 * time.Second // for the metrics and the log
	bundleLog  = "200"           // lines of the log
	bundleMost = 4 << 20         // bytes of the metrics, and of the log
	leastHeld  = 8               // characters of what is taken for a secret
)

// bundle is what may be sent to somebody who helps: what is in its files is for people too.
type bundle struct {
	names []string
	texts map[string][]byte
	held  []string // secrets of the configuration, none of which may be in it
}

// newBundle gathers a bundle. What cannot be had is left out.
func newBundle(ctx context.Context, cfg *config.Config, dir string, list []doctor.Finding) (*bundle, error) {
	b := &bundle{texts: map[string][]byte{}}
	for _, file := range cfg.SecretFiles() {
		b.hold(file)
	}
	own, _ := filepath.Glob(filepath.Join(dir, "*.key*")) // the pattern is well-formed
	for _, file := range own {
		b.hold(file)
	}
	version, _ := cli.ReadVersion("contextd")
	counts, err := backup.Status(ctx, dir, true)
	if err != nil {
		counts = nil // a finding says why
	}
	for name, v := range map[string]any{
		"version.json": version, "findings.json": list, "settings.json": cfg.Effective(), "databases.json": counts,
	} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		b.add(name, append(text, '\n'))
	}
	b.add("metrics.txt", metricsOf(ctx, cfg.Admin.Listen))
	b.add("log.txt", logOf(ctx))
	return b, nil
}

// hold notes the secrets in a file: each of its words.
func (b *bundle) hold(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	b.held = append(b.held, strings.TrimSpace(string(text)))
	b.held = append(b.held, strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n\":,{}", r) })...)
}

// secretText matches what looks like a secret wherever it comes from: keys of callers, private keys, users in addresses.
var secretText = regexp.MustCompile(`cv_(?:live|test)_[A-Za-z0-9]{9,}|\b(?:0x)?[0-9a-fA-F]{64}\b|://[^/\s"@]+@`)

// add adds a file, without secrets; none that is empty.
func (b *bundle) add(name string, text []byte) {
	if len(text) == 0 {
		return
	}
	clean := string(text)
	for _, secret := range b.held {
		if len(secret) >= leastHeld {
			clean = strings.ReplaceAll(clean, secret, "…")
		}
	}
	b.texts[name] = []byte(secretText.ReplaceAllString(clean, "…"))
	b.names = append(b.names, name)
	slices.Sort(b.names)
}

// write writes the bundle to a file, a tar archive compressed with gzip, for its user alone.
func (b *bundle) write(path string, now time.Time) error {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for _, name := range b.names {
		text := b.texts[name]
		header := &tar.Header{Name: "contextd-doctor/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: now}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		if _, err := archive.Write(text); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if err := atomicfile.Write(path, out.Bytes(), 0o600); err != nil {
		return cli.Invalid("--bundle: %w", err)
	}
	return nil
}

// metricsOf are those of the daemon that listens for its operator at an address, nothing where it does not.
func metricsOf(ctx context.Context, listen string) []byte {
	if listen == "" || strings.HasPrefix(listen, "unix:") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bundleWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/metrics", nil)
	if err != nil {
		return nil
	}
	var client http.Client
	res, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, bundleMost))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	return text
}

// logOf are the last lines that the system keeps of the daemon, nothing where it keeps none.
func logOf(ctx context.Context) []byte {
	ctx, cancel := context.WithTimeout(ctx, bundleWait)
	defer cancel()
	text, err := exec.CommandContext(ctx, "journalctl", "--unit=contextd", "--lines="+bundleLog, "--no-pager", "--quiet").Output()
	if err != nil || len(text) > bundleMost {
		return nil
	}
	return text
}

// countsFinding says how much there is, nothing where there is no database.
func countsFinding(ctx context.Context, dir string) (doctor.Finding, bool) {
	list, err := backup.Status(ctx, dir, true)
	if err != nil || len(list) == 0 {
		return doctor.Finding{}, false
	}
	rows := map[string]int64{}
	for _, d := range list {
		for _, t := range d.Tables {
			rows[t.Name] = t.Rows
		}
	}
	var said []string
	for _, one := range [][2]string{{"owners", "owner"}, {"keys", "key"}, {"sessions", "session"}, {"deposits", "deposit"},
		{"ledger", "change of credits"}, {"paid_calls", "call paid for singly"}, {"pulses", "state"}, {"briefs", "brief"}} {
		of, rest, _ := strings.Cut(one[1], " ")
		said = append(said, strings.TrimSpace(human.Plural(int(rows[one[0]]), of)+" "+rest))
	}
	return doctor.Finding{Check: "counts", Outcome: doctor.OK, Found: strings.Join(said, ", ")}, true
}

// connectionsFinding says how many connections a daemon has and may have.
func connectionsFinding(c admin.Connections) doctor.Finding {
	f := doctor.Finding{Check: "connections", Outcome: doctor.OK,
		Found: fmt.Sprintf("%d of at most %d open, %d of them streams", c.Open, c.Most, c.Streams)}
	if c.Refused > 0 {
		f.Outcome, f.Fix = doctor.Warning, "raise LimitNOFILE of the unit (ulimit -n), which bounds them"
		f.Found += fmt.Sprintf("; %d refused since the start, as all were being answered", c.Refused)
	}
	return f
}

// quotaFinding says how much callers may ask.
func quotaFinding(cfg *config.Config) doctor.Finding {
	l := cfg.Limits
	found := fmt.Sprintf("%d free calls a day for an owner, %d for an address; %d active keys for an owner",
		l.FreeCalls, l.FreeCallsPerClient, l.ActiveKeys)
	return doctor.Finding{Check: "quotas", Outcome: doctor.OK, Found: found}
}
