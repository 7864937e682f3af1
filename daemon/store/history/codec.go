package history

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/state"
)

// ErrDamaged is in the chain of the error for a stored state that does not read back as it was written.
var ErrDamaged = errors.New("stored state is damaged")

const (
	// keyframeEvery is the length of a block: one keyframe and the states compressed against it, an hour at five minutes. In
	// longer ones the states grow too unlike their keyframe, in shorter ones the keyframes, which are three times as large, count.
	keyframeEvery = 12
	// window is how far back encoders look, much further than any state is long. By default they keep 16 MB for that.
	window = 1 << 20
	// dictionaryID marks frames that need a keyframe. zstd asks for some number; which keyframe it is stands in the row.
	dictionaryID = 1
	// keptDecoders bounds the decoders kept ready, one per keyframe.
	keptDecoders = 64
	// maxContent bounds what a row may decompress to.
	maxContent = 4 << 20
)

type row struct {
	id          int64
	pack        string
	version     int
	generatedAt int64
	keyframe    int64 // 0 for a keyframe
	sum, body   []byte
}

// content is what a row holds: the length of the state, the state, the citations.
func content(p state.Pulse) ([]byte, error) {
	citations, err := json.Marshal(p.Citations)
	if err != nil {
		return nil, fmt.Errorf("encode citations: %w", err)
	}
	c := binary.AppendUvarint(make([]byte, 0, len(p.State)+len(citations)+4), uint64(len(p.State)))
	return append(append(c, p.State...), citations...), nil
}

func split(c []byte) (state, citations []byte, err error) {
	n, used := binary.Uvarint(c)
	if used <= 0 || n > uint64(len(c)-used) {
		return nil, nil, ErrDamaged
	}
	end := used + int(n)
	return c[used:end:end], c[end:], nil
}

// checksum ties content to the pack and the time it belongs to.
func (r *row) checksum(content []byte) []byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %d\n", r.pack, r.version, r.generatedAt)
	sum.Write(content)
	return sum.Sum(nil)[:16]
}

// codec compresses states against keyframes. It keeps an encoder for the open block of each pack and decoders for the
// keyframes that were asked for last.
type codec struct {
	plainEncoder *zstd.Encoder
	plainDecoder *zstd.Decoder

	mu       sync.Mutex // guards what follows
	blocks   map[string]*block
	decoders map[int64]*list.Element // of *keyframeDecoder
	recent   *list.List              // most recently used first
}

// block is the open block of a pack.
type block struct {
	keyframe int64
	rows     int
	encoder  *zstd.Encoder
}

type keyframeDecoder struct {
	keyframe int64
	*zstd.Decoder
}

// newCodec makes a codec. The options are constants, so zstd cannot refuse them.
func newCodec() *codec {
	enc, _ := newEncoder()
	dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxContent))
	return &codec{
		plainEncoder: enc, plainDecoder: dec,
		blocks: map[string]*block{}, decoders: map[int64]*list.Element{}, recent: list.New(),
	}
}

// newEncoder makes an encoder. The better level would save another twenty-fifth of the rows, for 12 MB of memory a pack.
func newEncoder(more ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append(more, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1))...)
}

func (c *codec) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Front(); e != nil; e = e.Next() {
		e.Value.(*keyframeDecoder).Close()
	}
	c.recent.Init()
	clear(c.decoders)
	c.plainDecoder.Close()
}

// newBlock makes the block of a keyframe with the given content, taken apart, and number of rows.
func newBlock(keyframe int64, moved []byte, rows int) (*block, error) {
	enc, err := newEncoder(zstd.WithEncoderDictRaw(dictionaryID, moved))
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	return &block{keyframe: keyframe, rows: rows, encoder: enc}, nil
}

// open returns the decoder for a keyframe, or nil if it is not at hand.
func (c *codec) open(keyframe int64) *keyframeDecoder {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.decoders[keyframe]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*keyframeDecoder)
}

// cache makes the decoder for a keyframe with the given content, taken apart, and keeps it in place of the one unused for longest.
func (c *codec) cache(keyframe int64, moved []byte) (*keyframeDecoder, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxContent),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderDictRaw(dictionaryID, moved))
	if err != nil {
		return nil, fmt.Errorf("make decoder: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.decoders[keyframe]; e != nil { // another reader was faster
		dec.Close()
		return e.Value.(*keyframeDecoder), nil
	}
	d := &keyframeDecoder{keyframe, dec}
	c.decoders[keyframe] = c.recent.PushFront(d)
	if c.recent.Len() > keptDecoders {
		last := c.recent.Remove(c.recent.Back()).(*keyframeDecoder)
		delete(c.decoders, last.keyframe) // not closed: a reader may be using it; it holds no goroutine
	}
	return d, nil
}

// forget drops the open block of pack, after rows were deleted or a write failed. Decoders stay: a keyframe's id is not used again.
func (c *codec) forget(pack string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.blocks, pack)
}

func (r *row) pulse(content []byte) (state.Pulse, error) {
	doc, citations, err := r.parts(content)
	if err != nil {
		return state.Pulse{}, err
	}
	p := r.of(doc)
	if err := json.Unmarshal(citations, &p.Citations); err != nil {
		return state.Pulse{}, fmt.Errorf("%w: citations: %w", ErrDamaged, err)
	}
	return p, nil
}

func (r *row) parts(content []byte) (state, citations []byte, err error) {
	if !bytes.Equal(r.sum, r.checksum(content)) {
		return nil, nil, ErrDamaged
	}
	return split(content)
}

// of is the pulse of r with the given state, without citations.
func (r *row) of(doc []byte) state.Pulse {
	return state.Pulse{Pack: r.pack, Version: r.version, GeneratedAt: database.FromMillis(valid(r.generatedAt)), State: doc}
}
