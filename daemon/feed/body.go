package feed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Body is an encoded JSON answer of which only ageSeconds, at its very end, changes with the time of reading. Everything
// before is encoded and compressed once; the text of the current second is kept for all who ask within it.
type Body struct {
	generatedAt time.Time
	head        []byte // up to and including `"ageSeconds":`

	compress sync.Once // makes deflated and sum for the first who asks for gzip
	deflated []byte    // head as deflate blocks that end on a byte boundary, behind the gzip header
	sum      uint32    // CRC-32 of head

	plain, gzip atomic.Pointer[rendering]
}

type rendering struct {
	age   int64
	bytes []byte
}

// gzipHeader is the ten bytes every gzip stream of this package begins with: deflate, no name, no time, unknown system.
func gzipHeader() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

// bodyEnd closes freshness and the object.
const bodyEnd = "}}"

// FreshBody encodes the answer of fresh for p and b.
func FreshBody(p state.Pulse, b state.Brief) (*Body, error) {
	var head bytes.Buffer
	head.WriteString(`{"state":`)
	head.Write(p.State)
	head.WriteByte(',')
	return newBody(&head, p, b)
}

// BriefBody encodes the answer of brief for p and b.
func BriefBody(p state.Pulse, b state.Brief) (*Body, error) {
	return newBody(bytes.NewBufferString("{"), p, b)
}

// newBody appends the members that fresh and brief share to head to make a body.
func newBody(head *bytes.Buffer, p state.Pulse, b state.Brief) (*Body, error) {
	shared := struct {
		Brief     string         `json:"brief"`
		BriefAt   *time.Time     `json:"briefAt,omitempty"`
		Citations []api.Citation `json:"citations"`
	}{Brief: b.Text, Citations: p.Citations}
	if !b.At.IsZero() {
		shared.BriefAt = &b.At
	}
	text, err := jsonx.Encode(shared)
	if err != nil {
		return nil, err
	}
	head.Write(text[1 : len(text)-1])
	fmt.Fprintf(head, `,"freshness":{"generatedAt":%q,"ageSeconds":`, p.GeneratedAt.UTC().Format(time.RFC3339Nano))
	return &Body{generatedAt: p.GeneratedAt, head: head.Bytes()}, nil
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
	return b.render(now, &b.plain, func(age string) []byte {
		return bytes.Join([][]byte{b.head, []byte(age), []byte(bodyEnd)}, nil)
	})
}

// Gzip is the body at now as a gzip stream. The caller must not change it.
func (b *Body) Gzip(now time.Time) []byte {
	b.compress.Do(b.deflate)
	return b.render(now, &b.gzip, func(age string) []byte {
		tail := age + bodyEnd
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

// render returns the rendering for the age at now, made once per second by whoever asks first.
func (b *Body) render(now time.Time, kept *atomic.Pointer[rendering], text func(age string) []byte) []byte {
	age := Age(b.generatedAt, now)
	if r := kept.Load(); r != nil && r.age == age {
		return r.bytes
	}
	r := &rendering{age: age, bytes: text(strconv.FormatInt(age, 10))}
	kept.Store(r)
	return r.bytes
}
