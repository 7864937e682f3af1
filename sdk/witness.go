package sdk

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// WitnessKey is the private key of a witness. It hides itself from format verbs.
type WitnessKey struct{ signer *cosigner }

// NewWitnessKey makes a key for a witness with the given name.
func NewWitnessKey(name string) (*WitnessKey, error) {
	if !plainKeyName(name) {
		return nil, fmt.Errorf("a witness cannot be called %q: give it a name such as witness.example.com/w, without spaces and +", name)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return &WitnessKey{newCosigner(name, public, private)}, nil
}

// ReadWitnessKey reads the text of Secret.
func ReadWitnessKey(text string) (*WitnessKey, error) {
	bad := errors.New("it is not a witness's private key")
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), privateKeyPrefix)
	name, seed, named := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(seed)
	if !ok || !named || err != nil || len(raw) != ed25519.SeedSize || !plainKeyName(name) {
		return nil, bad
	}
	private := ed25519.NewKeyFromSeed(raw)
	public, _ := private.Public().(ed25519.PublicKey)
	return &WitnessKey{newCosigner(name, public, private)}, nil
}

const privateKeyPrefix = "PRIVATE+WITNESS+"

// Secret returns the private key as text.
func (k *WitnessKey) Secret() string {
	return privateKeyPrefix + k.signer.name + "+" + base64.StdEncoding.EncodeToString(k.signer.private.Seed())
}

// Public returns the verifier key, which is public.
func (k *WitnessKey) Public() string { return k.signer.key() }

// String returns the verifier key.
func (k *WitnessKey) String() string { return k.Public() }

// GoString returns the verifier key.
func (k *WitnessKey) GoString() string { return k.Public() }

// WitnessedLog is the last cosigned checkpoint of a log.
type WitnessedLog struct {
	Key        string `json:"key"`        // of the log, whose name is its origin
	Checkpoint string `json:"checkpoint"` // the last that was cosigned, "" for none
}

// Witness cosigns checkpoints of trusted logs (C2SP tlog-witness), never two of different histories.
type Witness struct {
	Key  *WitnessKey
	Now  func() time.Time
	Load func(origin string) (WitnessedLog, error) // the zero one for a log that is not trusted
	Save func(origin string, log WitnessedLog) error

	mu sync.Mutex // one checkpoint after another
}

// maxSubmission bounds what is sent to a witness.
const maxSubmission = 64 << 10

// PathAddCheckpoint is the route of a Witness.
const PathAddCheckpoint = "/add-checkpoint"

// ServeHTTP answers add-checkpoint.
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, PathAddCheckpoint) {
		http.Error(rw, "there is nothing here; a witness answers POST "+PathAddCheckpoint, http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		http.Error(rw, "a checkpoint is sent with POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxSubmission))
	if err != nil {
		http.Error(rw, "the checkpoint cannot be read, or is too long", http.StatusBadRequest)
		return
	}
	line, err := w.Add(body)
	refused, _ := errors.AsType[*witnessError](err)
	switch {
	case err == nil:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(rw, line) // who is gone needs none
	case refused == nil:
		http.Error(rw, "the witness cannot keep what it saw, so it signs nothing", http.StatusInternalServerError)
	case refused.status == http.StatusConflict:
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", refused.size)
	default:
		http.Error(rw, refused.text, refused.status)
	}
}

// witnessError is the answer to a refused checkpoint.
type witnessError struct {
	status int
	text   string
	size   int64 // of what it knows, for a conflict
}

// Error returns the status and the text.
func (e *witnessError) Error() string { return strconv.Itoa(e.status) + " " + e.text }

type submission struct {
	old        int64
	proof      []tlog.Hash
	checkpoint string
}

// parseSubmission reads `old N`, the lines of the proof, an empty one, and the checkpoint.
func parseSubmission(body []byte) (s submission, err error) {
	bad := &witnessError{status: http.StatusBadRequest, text: "it is not old N, the lines of a proof, an empty one and a checkpoint"}
	head, note, ok := bytes.Cut(body, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	size, isOld := strings.CutPrefix(lines[0], "old ")
	if s.old, err = strconv.ParseInt(size, 10, 64); !ok || !isOld || err != nil || s.old < 0 || strconv.FormatInt(s.old, 10) != size {
		return s, bad
	}
	if s.proof, err = parseProof(lines[1:]); err != nil {
		return s, bad
	}
	s.checkpoint = string(note)
	return s, nil
}

// Add cosigns a checkpoint: it takes the body of a request and returns a line of a signed note.
func (w *Witness) Add(body []byte) (line string, err error) {
	s, err := parseSubmission(body)
	if err != nil {
		return "", err
	}
	origin, _, _ := strings.Cut(s.checkpoint, "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	log, err := w.Load(origin)
	if err != nil {
		return "", err
	}
	if log.Key == "" {
		return "", &witnessError{status: http.StatusNotFound, text: "this log is not trusted here"}
	}
	c, err := OpenCheckpoint(s.checkpoint, log.Key)
	if err != nil {
		return "", &witnessError{status: http.StatusForbidden, text: "the checkpoint is not signed by the key of this log"}
	}
	var last Checkpoint
	if log.Checkpoint != "" {
		known, err := OpenCheckpoint(log.Checkpoint, log.Key)
		if err != nil {
			return "", err // of its own memory, with which it must not sign
		}
		last = *known
	}
	if err := s.follows(c, &last); err != nil {
		return "", err
	}
	if log.Checkpoint = c.Text; c.Size > last.Size || last.Text == "" {
		if err := w.Save(origin, log); err != nil { // before it signs: who signed has remembered, through kill -9
			return "", err
		}
	}
	return w.Key.signer.line(c.text, w.Now()), nil
}

// follows checks that c is of the history of last.
func (s submission) follows(c, last *Checkpoint) error {
	switch {
	case s.old > c.Size:
		return &witnessError{status: http.StatusBadRequest, text: "the old size is larger than that of the checkpoint"}
	case s.old != last.Size || s.old == c.Size && c.Size > 0 && c.Root != last.Root:
		return &witnessError{status: http.StatusConflict, size: last.Size}
	case s.old == 0 || s.old == c.Size:
		if len(s.proof) > 0 {
			return &witnessError{status: http.StatusUnprocessableEntity, text: "there is nothing to prove, and a proof"}
		}
		return nil
	}
	if err := tlog.CheckTree(s.proof, c.Size, c.root, s.old, last.root); err != nil {
		return &witnessError{status: http.StatusUnprocessableEntity, text: "the proof does not lead from the old size to the checkpoint"}
	}
	return nil
}

// AskWitness asks the witness at an address, with the given verifier key, to cosign a checkpoint, and returns its line. Size is the assumed
// size of the witness's checkpoint; the witness reports another. Prove makes the consistency proof from that size, as Consistency does.
func AskWitness(ctx context.Context, c *http.Client, address, key, checkpoint string, size int64,
	prove func(ctx context.Context, old int64) ([]string, error)) (line string, err error) {
	witness, err := parseWitness(key)
	if err != nil {
		return "", err
	}
	for range 2 {
		proof, err := prove(ctx, size)
		if err != nil {
			return "", err
		}
		body := fmt.Sprintf("old %d\n%s\n%s", size, strings.Join(append(proof, ""), "\n"), checkpoint)
		status, answer, err := postCheckpoint(ctx, c, address, body)
		if err != nil {
			return "", err
		}
		known, numeral := strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
		switch {
		case status == http.StatusOK:
			return witness.checked(checkpoint, string(answer))
		case status == http.StatusConflict && numeral == nil && known != size:
			size = known
			continue
		case status == http.StatusConflict:
			return "", errors.New("the witness has seen another history of this log")
		}
		return "", fmt.Errorf("the witness answers %d", status)
	}
	return "", errors.New("the witness knows another size each time: others send it checkpoints too")
}

func postCheckpoint(ctx context.Context, c *http.Client, address, body string) (status int, answer []byte, err error) {
	address = strings.TrimSuffix(address, "/") + PathAddCheckpoint
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, transportError(req, 1, err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxSubmission))
	if err != nil {
		return 0, nil, transportError(req, 1, err)
	}
	return resp.StatusCode, answer, nil
}

func (c *cosigner) checked(checkpoint, answer string) (string, error) {
	text := checkpoint[:max(strings.LastIndex(checkpoint, "\n\n"), 0)]
	for line := range strings.SplitAfterSeq(answer, "\n") {
		signature, ok := strings.CutPrefix(line, "— "+c.name+" ")
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(signature, "\n"))
		if ok && err == nil && len(raw) > 4 && bytes.Equal(raw[:4], c.hashBytes()) && c.Verify([]byte(text+"\n"), raw[4:]) {
			return line, nil
		}
	}
	return "", errors.New("the witness's answer has no signature by its key")
}
