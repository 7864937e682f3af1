package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// bundleOf is the bundle of a state of the log.
func bundleOf(t testing.TB, l *testLog, seq int, salt string) []byte {
	t.Helper()
	b := sdk.Bundle{LogEntry: l.entry(seq), Brief: "brief", State: []byte(stateAt(seq, salt))}
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// judged is the basis of a check that the log signed for a leaf.
func (l *testLog) judged(t testing.TB, seq int, basis string) *api.CheckBasis {
	t.Helper()
	p, err := sdk.VerifyEntry(l.entry(seq), l.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: api.CheckNote(l.origin, p.Hash, basis)}, l.signer)
	if err != nil {
		t.Fatal(err)
	}
	return &api.CheckBasis{Text: basis, Note: string(signed)}
}

// TestBasisOfAnother: what a text was judged against is that of one state of one log, and nobody else's.
func TestBasisOfAnother(t *testing.T) {
	t.Parallel()
	l, other := newTestLog(t, logOrigin), newTestLog(t, logOrigin)
	l.grow(t, 3, "a")
	other.grow(t, 3, "a")
	good := l.judged(t, 1, "{}")
	for what, basis := range map[string]*api.CheckBasis{
		"another state": l.judged(t, 2, "{}"), "another key": other.judged(t, 1, "{}"), "a checkpoint": {Text: "{}", Note: l.checkpoint(3)},
		"another text": {Text: "{ }", Note: good.Note}, "no signature": {Text: "{}"},
		"a signature twice": {Text: "{}", Note: good.Note + good.Note[strings.Index(good.Note, "\u2014"):]},
	} {
		b := sdk.Bundle{LogEntry: l.entry(1), Check: basis, State: []byte(stateAt(1, "a"))}
		text, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := sdk.VerifyBundle(text, l.key); !errors.Is(err, sdk.ErrUnproven) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := sdk.OpenCheckpoint(good.Note, l.key); !errors.Is(err, sdk.ErrUnproven) {
		t.Errorf("it passes for a checkpoint: %v", err)
	}
}

// TestEveryByteOfABundle flips the bits that JSON, hexadecimal or base64 may not look at in every byte of a small bundle, one after the
// other, and one more.
func TestEveryByteOfABundle(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 3, "a")
	witness := newWitness(t, "w.test/1", l)
	e := l.entry(1)
	e.Checkpoint += witness.ask(t, l, 0)
	text, err := (&sdk.Bundle{LogEntry: e, Brief: "brief", Check: l.judged(t, 1, `{"rows":[{"key":"a"}]}`), State: []byte(stateAt(1, "a"))}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	verify := func(data []byte) error {
		_, p, err := sdk.VerifyBundle(data, "", witness.Key.Public())
		if err == nil {
			err = p.Checkpoint.NeedWitnesses(1)
		}
		return err
	}
	if err := verify(text); err != nil {
		t.Fatal(err)
	}
	if verify(text[:len(text)-2]) == nil {
		t.Error("a bundle without its end")
	}
	if !sdk.IsBundle(text) {
		t.Error("it is not known as a bundle")
	}
	for i := range text {
		for _, to := range []byte{0x01, 0x20, 1 << (i % 8)} {
			bad := bytes.Clone(text)
			bad[i] ^= to
			if err := verify(bad); !errors.Is(err, sdk.ErrUnproven) {
				t.Fatalf("byte %d, %q, changed to %q: %v", i, text[i], bad[i], err)
			}
		}
		if verify(append(append(bytes.Clone(text[:i]), ' '), text[i:]...)) == nil || verify(append(bytes.Clone(text[:i]), text[i+1:]...)) == nil {
			t.Fatalf("a byte more, or less, at %d", i)
		}
	}
}

// TestEveryByteOfAnEntry changes every byte of a leaf, its proof and its checkpoint as a service sends them.
func TestEveryByteOfAnEntry(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 5, "a")
	e := l.entry(2)
	if _, err := sdk.VerifyEntry(e, l.key); err != nil {
		t.Fatal(err)
	}
	for what, part := range map[string]*string{"leaf": &e.Leaf, "proof": &e.Proof[1], "checkpoint": &e.Checkpoint, "key": &e.Key} {
		whole := *part
		for i := range whole {
			for _, to := range []byte{0x01, 0x20, 1 << (i % 8)} {
				bad := []byte(whole)
				bad[i] ^= to
				*part = string(bad)
				if _, err := sdk.VerifyEntry(e, ""); !errors.Is(err, sdk.ErrUnproven) {
					t.Fatalf("%s: byte %d, %q, changed to %q: %v", what, i, whole[i], bad[i], err)
				}
			}
		}
		*part = whole
	}
	for what, change := range map[string]func(*api.LogEntry){
		"no proof":      func(e *api.LogEntry) { e.Proof = nil },
		"a hash more":   func(e *api.LogEntry) { e.Proof = append(e.Proof, e.Proof[0]) },
		"too many":      func(e *api.LogEntry) { e.Proof = make([]string, 64) },
		"twice signed":  func(e *api.LogEntry) { e.Checkpoint += e.Checkpoint[strings.LastIndex(e.Checkpoint, "— "):] },
		"no signature":  func(e *api.LogEntry) { e.Checkpoint = e.Checkpoint[:strings.LastIndex(e.Checkpoint, "— ")] },
		"no checkpoint": func(e *api.LogEntry) { e.Checkpoint = "" },
		"another leaf":  func(e *api.LogEntry) { e.Leaf = l.leaves[3] },
		"past the end":  func(e *api.LogEntry) { e.Leaf = strings.Replace(e.Leaf, `"seq":2`, `"seq":5`, 1) },
		"version 2":     func(e *api.LogEntry) { e.Leaf = strings.Replace(e.Leaf, `"v":1`, `"v":2`, 1) },
		"of ai":         func(e *api.LogEntry) { e.Leaf = strings.Replace(e.Leaf, `"crypto"`, `"ai"`, 1) },
	} {
		bad := l.entry(2)
		change(&bad)
		if _, err := sdk.VerifyEntry(bad, ""); !errors.Is(err, sdk.ErrUnproven) {
			t.Errorf("%s: %v", what, err)
		}
	}
	other := newTestLog(t, logOrigin)
	if _, err := sdk.VerifyEntry(e, other.key); reasonOf(err) != "log_key_changed" {
		t.Errorf("another key is asked for: %v", err)
	}
}

// year is how many leaves a year of a pack has.
const year = 105_120

// TestYear verifies any minute of a year from a bundle.
func TestYear(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, year, "a")
	log := l.of(t)
	var bundles [][]byte
	for _, minute := range []int{0, 4, 5, 300, 262_800, 525_594, 525_599} {
		at := logBegin().Add(time.Duration(minute) * time.Minute)
		e, err := log.At(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sdk.VerifyEntry(*e, l.key)
		if err != nil || p.Leaf.Seq != int64(minute/5) || at.Before(p.Leaf.GeneratedAt) || at.Sub(p.Leaf.GeneratedAt) >= 5*time.Minute {
			t.Fatalf("minute %d: %v, %+v", minute, err, p)
		}
		bundles = append(bundles, bundleOf(t, l, minute/5, "a"))
	}
	known := l.head(t)
	l.grow(t, 1, "a")
	if err := log.Follow(t.Context(), known, l.head(t)); err != nil {
		t.Error(err)
	}
	l.Close() // the service is gone
	for i, text := range bundles {
		if _, p, err := sdk.VerifyBundle(text, l.key); err != nil || p.Checkpoint.Size != year {
			t.Errorf("bundle %d: %v", i, err)
		}
	}
	small, _, _ := bytes.Cut(bundles[3], []byte(`"state":`))
	t.Logf("a bundle of a year with a leaf of %d bytes has %d beside the state", len(l.leaves[60]), len(small))
}

// TestBundleIsSmall bounds a bundle of a year with a leaf as large as those of pack crypto, beside the state.
func TestBundleIsSmall(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	leaf := api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", GeneratedAt: logBegin(), State: hexOf("x"), Brief: hexOf("y"),
		Code: "1.4.0 0123456789ab"}
	for i := range 17 {
		leaf.Sources = append(leaf.Sources, api.LogSource{ID: "some-source-" + string(rune('a'+i)), FetchedAt: logBegin(),
			Bodies: []string{hexOf("a"), hexOf("b")}[:1+i%2]})
	}
	l.add(t, leaf)
	e := l.entry(0)
	for range 17 {
		e.Proof = append(e.Proof, known44)
	}
	text, err := (&sdk.Bundle{LogEntry: e, Brief: strings.Repeat("b", 900), State: []byte("{}")}).Encode()
	if err != nil || len(text) > 6<<10 {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	t.Logf("a leaf of %d bytes makes a bundle of %d", len(e.Leaf), len(text))
}

// known44 is a hash as it is written.
const known44 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func BenchmarkVerifyBundle(b *testing.B) {
	l := newTestLog(b, logOrigin)
	big, _ := json.Marshal(strings.Repeat("state ", 20_000))
	l.add(b, api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", State: hexOf(string(big))})
	l.grow(b, 10_000, "a")
	text, err := (&sdk.Bundle{LogEntry: l.entry(0), State: big}).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.Logf("%d bytes", len(text))
	for b.Loop() {
		if _, _, err := sdk.VerifyBundle(text, l.key); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzBundle(f *testing.F) {
	l := newTestLog(f, logOrigin)
	l.grow(f, 3, "a")
	good := bundleOf(f, l, 1, "a")
	f.Add(good)
	f.Add([]byte(`{"v":1,"leaf":"","proof":[],"checkpoint":"","key":"","brief":"","state":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, p, err := sdk.VerifyBundle(data, l.key)
		if err == nil && !bytes.Equal(data, good) && (p.Checkpoint.Text != l.checkpoint(3) || string(b.State) == "") {
			t.Errorf("it is proven: %q", data)
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	l := newTestLog(f, logOrigin)
	l.grow(f, 3, "a")
	good := l.checkpoint(3)
	f.Add(good, l.key)
	f.Add("a\n1\n"+known44+"\n\n— a b\n", "a+b+c")
	f.Fuzz(func(t *testing.T, text, key string) {
		if c, err := sdk.OpenCheckpoint(text, l.key, key); err == nil && c.Root != l.head(t).Root {
			t.Errorf("it is signed: %q", text)
		}
		_, _ = sdk.ParseWitnessKey(key)
		_, _ = sdk.OpenCheckpoint(text, key)
	})
}
