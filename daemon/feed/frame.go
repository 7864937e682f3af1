package feed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/contextd/contextd/sdk/api"
)

// Frame is one event or comment of a stream. It is made once and compressed once, for all streams that send it.
type Frame struct {
	text []byte

	compress sync.Once // makes what follows for the first stream that wants gzip
	zipped   []byte    // text as deflate blocks that need nothing before them and end on a byte boundary
	sum      uint32    // CRC-32 of text
	shift    uint32    // what moves a CRC-32 on by the length of text
}

// NewFrame is the frame of an event. data is JSON without line breaks.
func NewFrame(event api.EventType, data []byte) *Frame {
	return &Frame{text: fmt.Appendf(make([]byte, 0, len(data)+32), "event: %s\ndata: %s\n\n", event, bytes.TrimSpace(data))}
}

// NewEvent is the frame of an event without a type. A reader who comes back names the id of the last one that it saw.
func NewEvent(id int64, data []byte) *Frame {
	return &Frame{text: fmt.Appendf(make([]byte, 0, len(data)+32), "id: %d\ndata: %s\n\n", id, bytes.TrimSpace(data))}
}

// NewText is a piece of a text that is put together of pieces.
func NewText(text []byte) *Frame { return &Frame{text: text} }

// NewComment is the frame of a comment, which readers pass over.
func NewComment(text string) *Frame { return &Frame{text: fmt.Appendf(nil, ": %s\n\n", text)} }

// Text is the frame as it goes over the wire. The caller must not change it.
func (f *Frame) Text() []byte { return f.text }

// syncMarker is an empty stored block. A decoder hands out what came before when it meets one.
func syncMarker() []byte { return []byte{0, 0, 0, 0xff, 0xff} }

// short is the length up to which text is stored as it is: a comment is not worth a compressor, which takes half a megabyte.
const short = 512

func (f *Frame) deflate() {
	f.sum, f.shift = crc32.ChecksumIEEE(f.text), shiftBy(len(f.text))
	if n := uint16(len(f.text)); len(f.text) <= short {
		f.zipped = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte{0}, n), ^n)
		f.zipped = append(append(f.zipped, f.text...), syncMarker()...)
		return
	}
	var zipped bytes.Buffer
	// Neither a valid level nor a write to memory can fail.
	w, _ := flate.NewWriter(&zipped, flate.BestCompression)
	_, _ = w.Write(f.text)
	_ = w.Flush()
	f.zipped = zipped.Bytes()
}

// Zip is one gzip stream of frames that other streams send too. The zero Zip is at its beginning. No frame refers to another, so its blocks
// are the same bytes in every stream; only the sum at the end is a stream's own, and that follows from the sums of its frames.
type Zip struct {
	sum, size uint32
}

// Head is how the stream begins.
func (*Zip) Head() []byte { return gzipHeader() }

// Next is what f adds to the stream. The caller must not change it.
func (z *Zip) Next(f *Frame) []byte {
	f.compress.Do(f.deflate)
	z.sum = multiply(f.shift, z.sum) ^ f.sum
	z.size += uint32(len(f.text)) // modulo 2^32, as gzip has it
	return f.zipped
}

// Tail is how the stream ends.
func (z *Zip) Tail() []byte {
	end := syncMarker()
	end[0] = 1 // the last block
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(end, z.sum), z.size)
}

// one is the polynomial 1 as CRC-32 writes polynomials: the highest bit is the coefficient of x^0.
const one = 1 << 31

// multiply is a times b modulo the polynomial of CRC-32.
func multiply(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		if b&1 == 0 {
			b >>= 1
		} else {
			b = b>>1 ^ crc32.IEEE
		}
	}
	return product
}

// shiftBy is what a CRC-32 is multiplied with when n bytes follow: x to the power of 8n.
func shiftBy(n int) uint32 {
	power, square := uint32(one), uint32(one>>8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = multiply(power, square)
		}
		square = multiply(square, square)
	}
	return power
}
