package client_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// proven is a service whose answers a log proves. Its states are 5 minutes apart; the newest is of fakeNow.
type proven struct {
	*httptest.Server
	signer      note.Signer
	private     ed25519.PrivateKey
	origin, key string

	mu     sync.Mutex
	states []string // by place in the log
	leaves []string
	hashes []tlog.Hash
	lie    string            // added to states that are answered
	proof  func(*api.Proof)  // changes the header; nil leaves it
	old    map[string][]byte // what a cache on the way has
	gone   bool              // there is no log any more
	later  string            // ends in brief: what was written for the newest state later, "" for none
	asked  []string
	keys   []string // that were sent

	witness  *sdk.Witness // signs its checkpoints; nil for none
	anchored []byte       // the entry that was kept with signatures of witnesses; nil for none
}

// newProven starts a service with a log of n states.
func newProven(t *testing.T, origin string, n int) *proven {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return newProvenBy(t, private, origin, n)
}

// newProvenBy is newProven with a key.
func newProvenBy(t *testing.T, private ed25519.PrivateKey, origin string, n int) *proven {
	t.Helper()
	const algorithm = 1 // Ed25519
	key, err := note.NewEd25519VerifierKey(origin, private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	seed := base64.StdEncoding.EncodeToString(append([]byte{algorithm}, private.Seed()...))
	p := &proven{origin: origin, key: key, private: private}
	if p.signer, err = note.NewSigner("PRIVATE+KEY+" + strings.Join(strings.SplitN(key, "+", 3)[:2], "+") + "+" + seed); err != nil {
		t.Fatal(err)
	}
	p.grow(t, n, "a")
	p.start(t, nil)
	return p
}

// start starts the service, at the place of another.
func (p *proven) start(t *testing.T, at *proven) {
	t.Helper()
	if at == nil {
		p.Server = httptest.NewServer(p)
		t.Cleanup(p.Close)
		return
	}
	p.Server = at.Server
	p.Config.Handler = p
}

// fork is a copy of the service, which takes its place.
func (p *proven) fork(t *testing.T) *proven {
	t.Helper()
	f := &proven{origin: p.origin, key: p.key, signer: p.signer,
		states: slices.Clone(p.states), leaves: slices.Clone(p.leaves), hashes: slices.Clone(p.hashes)}
	f.start(t, p)
	return f
}

// cut takes back what came after the first n.
func (p *proven) cut(n int) {
	p.states, p.leaves, p.hashes = p.states[:n], p.leaves[:n], p.hashes[:tlog.StoredHashCount(int64(n))]
}

func (p *proven) grow(t *testing.T, n int, salt string) {
	t.Helper()
	for range n {
		state := fmt.Sprintf(`{"n":%d,"salt":"<%s>"}`, len(p.leaves), salt)
		p.add(t, state, api.LogLeaf{Brief: sumOf("brief")})
	}
}

// add appends a state.
func (p *proven) add(t *testing.T, state string, leaf api.LogLeaf) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	leaf.V, leaf.Pack, leaf.Seq, leaf.Code = 1, "crypto", int64(len(p.leaves)), "test"
	if leaf.Kind == "" {
		leaf.Kind, leaf.State = api.LeafState, sumOf(state)
	}
	if leaf.GeneratedAt.IsZero() {
		leaf.GeneratedAt = p.at(len(p.leaves))
	}
	text, err := jsonx.Encode(leaf)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := tlog.StoredHashes(leaf.Seq, text, p)
	if err != nil {
		t.Fatal(err)
	}
	p.states, p.leaves, p.hashes = append(p.states, state), append(p.leaves, string(text)), append(p.hashes, hashes...)
}

// rewrite appends another brief of the newest state, some seconds after it.
func (p *proven) rewrite(t *testing.T, text string) {
	t.Helper()
	at := p.at(len(p.leaves) - 1).Add(3 * time.Second)
	p.add(t, "", api.LogLeaf{Kind: api.LeafBrief, GeneratedAt: at, Brief: sumOf(text)})
	p.later = text
}

// brief is the text of the newest state.
func (p *proven) brief() string {
	if p.later != "" {
		return p.later
	}
	return "brief"
}

// at is when a state was made.
func (*proven) at(seq int) time.Time {
	return fakeNow().Add(-24*time.Hour + time.Duration(seq)*5*time.Minute)
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ReadHashes makes it a tlog.HashReader.
func (p *proven) ReadHashes(indexes []int64) (list []tlog.Hash, _ error) {
	for _, x := range indexes {
		list = append(list, p.hashes[x])
	}
	return list, nil
}

func (p *proven) checkpoint() string {
	root, _ := tlog.TreeHash(int64(len(p.leaves)), p)
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", p.origin, len(p.leaves), root)}, p.signer)
	if err != nil {
		panic(err)
	}
	if p.witness == nil {
		return string(signed)
	}
	line, err := p.witness.Add([]byte("old 0\n\n" + string(signed)))
	if err != nil {
		panic(err)
	}
	return string(signed) + line
}

func (p *proven) entry(seq int) []byte {
	e := api.LogEntry{Leaf: p.leaves[seq], Checkpoint: p.checkpoint(), Key: p.key, Proof: []string{}}
	proof, _ := tlog.ProveRecord(int64(len(p.leaves)), int64(seq), p)
	for _, h := range proof {
		e.Proof = append(e.Proof, h.String())
	}
	text, _ := json.Marshal(e)
	return text
}

// ServeHTTP answers fresh, brief, snapshot and the routes of the log.
func (p *proven) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
	if key := r.Header.Get("Authorization"); key != "" {
		p.keys = append(p.keys, key)
	}
	seq, named := len(p.leaves)-1, r.URL.Query().Get("at")+r.URL.Query().Get("minute")
	if p.later != "" {
		seq--
	}
	if named != "" {
		at, err := api.ParseMoment(named)
		if err != nil {
			panic(err)
		}
		seq = min(seq, int(at.End().Add(-time.Nanosecond).Sub(p.at(0))/(5*time.Minute)))
	}
	if data := p.logged(strings.TrimPrefix(r.URL.Path, "/log/crypto/"), seq); data != nil {
		w.Write(data)
		return
	}
	leaf := api.Proof{Log: p.origin, Seq: int64(seq), Leaf: ""}
	if path := r.URL.Path; seq < 0 || path != api.PathFresh && path != api.PathBrief && path != api.PathSnapshot {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"code":"NOT_FOUND","reason":"not_found","message":"there is no such thing","requestId":"r"}}`)
		return
	}
	hash := tlog.RecordHash([]byte(p.leaves[seq]))
	leaf.Leaf = hex.EncodeToString(hash[:])
	if p.proof != nil {
		p.proof(&leaf)
	}
	if leaf.Log != "" {
		w.Header().Set(api.HeaderProof, leaf.String())
	}
	freshness, _ := json.Marshal(api.Freshness{GeneratedAt: p.at(seq), AgeSeconds: 1})
	brief, at := p.brief(), p.at(seq).Add(time.Second)
	if p.later != "" {
		at = p.at(seq).Add(3 * time.Second)
	}
	written := fmt.Sprintf(`"briefAt":%q,"briefOf":%q,`, at.Format(time.RFC3339Nano), p.at(seq).Format(time.RFC3339Nano))
	const cited = `[{"ref":1,"url":"https://a.test","excerpt":"0.5 %"}]`
	switch r.URL.Path {
	case api.PathBrief:
		fmt.Fprintf(w, `{"brief":"%s%s",%s"citations":%s,"freshness":%s}`, brief, p.lie, written, cited, freshness)
		return
	case api.PathSnapshot:
		brief, written = "", ""
	}
	fmt.Fprintf(w, `{"state":%s,"brief":%q,%s"citations":%s,"freshness":%s}`, strings.TrimSuffix(p.states[seq], "}")+p.lie+"}", brief,
		written, cited, freshness)
}

// logged answers the routes of the log.
func (p *proven) logged(path string, seq int) []byte {
	number, _ := strings.CutPrefix(path, "leaf/")
	n, err := strconv.Atoi(number)
	switch {
	case p.gone:
		return nil
	case strings.HasPrefix(path, "anchor/"):
		return p.anchored
	case p.old[path] != nil:
		return p.old[path]
	case path == "checkpoint":
		return []byte(p.checkpoint())
	case path == "at" && seq >= 0:
		return p.entry(seq)
	case err == nil && n < len(p.leaves):
		return p.entry(n)
	}
	tile, err := tlog.ParseTilePath(strings.Replace(strings.Replace(path, "tile/", "tile/8/", 1), "/entries/", "/data/", 1))
	if err != nil || tile.N<<8+int64(tile.W) > int64(len(p.leaves))>>(8*max(tile.L, 0)) {
		return nil
	}
	if tile.L >= 0 {
		data, _ := tlog.ReadTileData(tile, p)
		return data
	}
	var data []byte
	for _, text := range p.leaves[tile.N<<8:][:tile.W] {
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(text))), text...)
	}
	return data
}
