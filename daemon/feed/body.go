package feed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Body is an encoded JSON answer of which only the ages, and how the sources do, at its very end, change with the time of reading.
// Everything before is encoded and compressed once; the text of the current second is kept for all who ask within it.
type Body struct {
	generatedAt time.Time
	ages        api.Ages
	provenance  api.Provenance // of the sources behind it
	head        []byte         // up to and including `"ageSeconds":`

	compress sync.Once // makes deflated and sum for the first who asks for gzip
	deflated []byte    // head as deflate blocks that end on a byte boundary, behind the gzip header
	sum      uint32    // CRC-32 of head

	plain, gzip atomic.Pointer[rendering]
}

type rendering struct {
	age, data int64 // in seconds
	bytes     []byte
}

// gzipHeader is the ten bytes every gzip stream of this package begins with: deflate, no name, no time, unknown system.
func gzipHeader() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

// FreshBody encodes the answer of fresh for p, told with b.
func FreshBody(p state.Pulse, b state.Narration) (*Body, error) {
	var head bytes.Buffer
	head.WriteString(`{"state":`)
	head.Write(p.State)
	head.WriteByte(',')
	s := narrationMembers(b)
	s.Citations, s.BriefCitations = p.Citations, b.Citations
	return s.body(&head, p)
}

// BriefBody encodes the answer of brief for b, told with p.
func BriefBody(p state.Pulse, b state.Narration) (*Body, error) {
	return briefMembers(p, b).body(bytes.NewBufferString("{"), p)
}

// briefMembers are those of the brief b, told with p.
func briefMembers(p state.Pulse, b state.Narration) shared {
	s := narrationMembers(b)
	if s.Citations = b.Citations; s.Citations == nil {
		s.Citations = p.Citations
	}
	return s
}

// shared are the members that fresh and brief share.
type shared struct {
	Brief          string         `json:"brief"`
	BriefAt        *time.Time     `json:"briefAt,omitempty"`
	BriefOf        *time.Time     `json:"briefOf,omitempty"`
	Since          *api.Since     `json:"since,omitempty"`
	Citations      []api.Citation `json:"citations"`
	BriefCitations []api.Citation `json:"briefCitations,omitempty"`
	Claims         []api.Claim    `json:"claims,omitempty"`
}

// narrationMembers is b without citations.
func narrationMembers(b state.Narration) (s shared) {
	s.Brief, s.Since, s.Claims = b.Text, b.Since, b.Claims
	if !b.At.IsZero() {
		s.BriefAt = &b.At
	}
	if !b.Of.IsZero() {
		s.BriefOf = &b.Of
	}
	return s
}

func (s shared) body(head *bytes.Buffer, p state.Pulse) (*Body, error) {
	text, err := jsonx.Encode(s)
	if err != nil {
		return nil, err
	}
	head.Write(text[1 : len(text)-1])
	fmt.Fprintf(head, `,"freshness":{"generatedAt":%q,"ageSeconds":`, p.GeneratedAt.UTC().Format(time.RFC3339Nano))
	return &Body{generatedAt: p.GeneratedAt, ages: p.Ages(), head: head.Bytes(),
		provenance: api.LowestProvenance(slices.Concat(s.Citations, s.BriefCitations))}, nil
}

// deflate compresses head, up to a sync marker behind which more blocks can follow.
func (b *Body) deflate() {
	zipped := bytes.NewBuffer(gzipHeader())
	// Neither a valid level nor a write to memory can fail.
	w, _ := flate.NewWriter(zipped, flate.BestCompression)
	_, _ = w.Write(b.head)
	_ = w.Flush()
	b.deflated = zipped.Bytes()
	b.sum = crc32.ChecksumIEEE(b.head)
}

// Bytes is the body at now. The caller must not change it.
func (b *Body) Bytes(now time.Time) []byte {
	return b.render(now, &b.plain, func(tail string) []byte { return append(bytes.Clone(b.head), tail...) })
}

// Gzip is the body at now as a gzip stream. The caller must not change it.
func (b *Body) Gzip(now time.Time) []byte {
	b.compress.Do(b.deflate)
	return b.render(now, &b.gzip, func(tail string) []byte {
		end := make([]byte, 0, 5+len(tail)+8)
		end = append(end, 1) // the last block, stored
		end = binary.LittleEndian.AppendUint16(end, uint16(len(tail)))
		end = binary.LittleEndian.AppendUint16(end, ^uint16(len(tail)))
		end = append(end, tail...)
		end = binary.LittleEndian.AppendUint32(end, crc32.Update(b.sum, crc32.IEEETable, []byte(tail)))
		end = binary.LittleEndian.AppendUint32(end, uint32(len(b.head)+len(tail)))
		return append(bytes.Clone(b.deflated), end...)
	})
}

// render returns the rendering for the ages at now, made once per second, by the first reader. Its tail closes freshness and the object.
func (b *Body) render(now time.Time, kept *atomic.Pointer[rendering], text func(tail string) []byte) []byte {
	f := b.ages.Freshness(b.generatedAt, now)
	if r := kept.Load(); r != nil && r.age == f.AgeSeconds && r.data == f.DataAgeSeconds {
		return r.bytes
	}
	tail := strconv.FormatInt(f.AgeSeconds, 10) + `,"dataAgeSeconds":` + strconv.FormatInt(f.DataAgeSeconds, 10)
	if b.provenance != "" {
		tail += `,"provenance":"` + string(b.provenance) + `"`
	}
	tail += troubles(f) + "}}"
	r := &rendering{age: f.AgeSeconds, data: f.DataAgeSeconds, bytes: text(tail)}
	kept.Store(r)
	return r.bytes
}

// troubles are the members of f that are only there where not all sources are ok.
func troubles(f api.Freshness) string {
	if len(f.Sources) == 0 {
		return ""
	}
	text, _ := jsonx.Encode(struct { // of texts, numbers and times: this cannot fail
		Sources []api.SourceTrouble `json:"sources"`
		Flags   []api.Flag          `json:"flags,omitempty"`
	}{f.Sources, f.Flags})
	return "," + string(text[1:len(text)-1])
}
