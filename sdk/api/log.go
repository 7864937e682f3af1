package api

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Routes of the transparency logs, with {pack} for the pack. The paths below PathLog follow C2SP tlog-tiles.
const (
	PathLog           = "/log/{pack}"
	PathLogCheckpoint = PathLog + "/checkpoint"
	PathLogLeaf       = PathLog + "/leaf/{seq}"
	PathLogAnchor     = PathLog + "/anchor/{seq}"
	PathLogAt         = PathLog + "/at"  // ?minute=
	PathLogRow        = PathLog + "/row" // ?kind=&key=
)

// HeaderProof names the leaf that proves an answer. Its value is a Proof as text.
const HeaderProof = "Context-Proof"

// Proof names a leaf of a log. The zero Proof names none.
type Proof struct {
	Log   string `json:"log"`             // the log's origin, as in its checkpoints
	Seq   int64  `json:"seq"`             // place of the leaf in the log, from 0
	Leaf  string `json:"leaf"`            // its hash, as tlog makes it, in hex
	Scope string `json:"scope,omitempty"` // ScopeFull where the answer is a part of what is proven
}

// ScopeFull marks the proof of a whole state in an answer that holds only a part of it.
const ScopeFull = "full"

// String returns p as the value of HeaderProof: `log="…"; seq=…; leaf=…`.
func (p Proof) String() string {
	s := fmt.Sprintf(`log=%q; seq=%d; leaf=%s`, p.Log, p.Seq, p.Leaf)
	if p.Scope != "" {
		s += "; scope=" + p.Scope
	}
	return s
}

// ParseProof reads the value of HeaderProof.
func ParseProof(text string) (p Proof, err error) {
	bad := errors.New(`a proof is written as log="…"; seq=…; leaf=…`)
	for part := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			return Proof{}, bad
		case name == "log":
			if p.Log, err = strconv.Unquote(value); err != nil {
				return Proof{}, bad
			}
		case name == "seq":
			if p.Seq, err = strconv.ParseInt(value, 10, 64); err != nil || p.Seq < 0 {
				return Proof{}, bad
			}
		case name == "leaf":
			p.Leaf = value
		case name == "scope":
			p.Scope = value
		}
	}
	if p.Log == "" || len(p.Leaf) != 64 {
		return Proof{}, bad
	}
	return p, nil
}

// Kinds of leaves.
const (
	LeafState = "state" // a state, with the brief that was written with it
	LeafBrief = "brief" // a brief that was written later
)

// LogLeaf is the content of a leaf. Its first encoding is what the log stores, hashes and serves. Hashes are SHA-256 in hex.
type LogLeaf struct {
	V           int           `json:"v"` // 1
	Kind        string        `json:"kind"`
	Pack        string        `json:"pack"`
	PackVersion int           `json:"packVersion"`
	Seq         int64         `json:"seq"` // place of the leaf in the log, from 0
	GeneratedAt time.Time     `json:"generatedAt"`
	State       string        `json:"state,omitempty"`     // hash of the bytes of the member state of fresh
	Brief       string        `json:"brief,omitempty"`     // hash of the text of the brief
	Of          *int64        `json:"of,omitempty"`        // LeafBrief: the leaf of the state that it was written from, where that is in this log
	Sources     []LogSource   `json:"sources,omitempty"`   // LeafState: what it was made of, ordered by id
	Digest      string        `json:"digest,omitempty"`    // LeafState: of the manifest of the pack; leaves from before it was told have none
	Every       float64       `json:"every,omitempty"`     // LeafState: seconds from refresh to refresh
	Tables      string        `json:"tables,omitempty"`    // LeafState: root of the tree of its rows, see LogRow
	NotBefore   *LogNotBefore `json:"notBefore,omitempty"` // LeafState: what nobody could know before; leaves may lack it
	Code        string        `json:"code"`                // version and commit of the program
	Arch        string        `json:"arch,omitempty"`      // LeafState: the processor that computed it, as Go calls it
	Previous    *LogHead      `json:"previous,omitempty"`  // first leaf: the log that this one follows, if any
}

// LogNotBefore is a public value that nobody could know before it was published: what holds it was made later.
type LogNotBefore struct {
	Kind  string `json:"kind"`  // drand: a round of a network of drand
	Value string `json:"value"` // of drand: CHAIN/ROUND/SIGNATURE, as the network publishes them
}

// LogSource is a source of a logged state. Leaves from before they were told have none of the members behind Omitted.
type LogSource struct {
	ID        string    `json:"id"`
	FetchedAt time.Time `json:"fetchedAt"`         // when it said so, or last confirmed it
	Bodies    []string  `json:"bodies"`            // hashes of the bodies that upstream sent, uncompressed, in the order of the requests
	Omitted   int       `json:"omitted,omitempty"` // number of bodies left out: a leaf has a bound
	At        time.Time `json:"at,omitzero"`       // when the attempt began that brought the bodies
	Doc       string    `json:"doc,omitempty"`     // hash of the document that was read out of them
	Rows      string    `json:"rows,omitempty"`    // hash of its rows alone; left out where the document has nothing else
	From      string    `json:"from,omitempty"`    // Doc of the document before, where this one was made from that too
	Via       string    `json:"via,omitempty"`     // who answered in its place
	Moved     bool      `json:"moved,omitempty"`   // it is asked at an address of the operator's
}

// RowsHash is the hash of the rows that s gave, which two services that were told the same have both; "" for a leaf from before it was
// told.
func (s LogSource) RowsHash() string {
	if s.Rows == "" {
		return s.Doc
	}
	return s.Rows
}

// LogRow is a row of the tables of a state as the log has it: what neither a question nor time changes in a LookupRow. LogLeaf.Tables is
// the root of a tree (RFC 6962) whose leaves are the encodings of all rows, ordered by kind, then key.
type LogRow struct {
	Kind      string    `json:"kind"`
	Key       string    `json:"key"`
	Entity    string    `json:"entity"`
	Name      string    `json:"name"`
	Symbol    string    `json:"symbol,omitempty"`
	Fields    Fields    `json:"fields"`
	Ref       int       `json:"ref"`
	URL       string    `json:"url"`
	Of        string    `json:"of,omitempty"`
	FetchedAt time.Time `json:"fetchedAt"`
}

// LogHead is a log at one size.
type LogHead struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   string `json:"root"` // its hash in base64, as in a checkpoint
}

// LogEntry answers PathLogLeaf, PathLogAnchor and PathLogAt: a leaf and the proof of its inclusion in the log.
type LogEntry struct {
	Leaf       string   `json:"leaf"`       // a LogLeaf as it is in the log, to the byte
	Proof      []string `json:"proof"`      // hashes in base64 that lead from the leaf to the checkpoint's
	Checkpoint string   `json:"checkpoint"` // a signed note, as C2SP tlog-checkpoint has it
	Key        string   `json:"key"`        // verifier key of the checkpoint, as in golang.org/x/mod/sumdb/note
}

// LogRowEntry answers PathLogRow: a row of the newest state, and the proof that its leaf has it.
type LogRowEntry struct {
	LogEntry          // of that state
	Row      string   `json:"row"`      // a LogRow as it was hashed, to the byte
	Place    int64    `json:"place"`    // among the rows of the state, from 0
	Rows     int64    `json:"rows"`     // how many there are
	RowProof []string `json:"rowProof"` // hashes in base64 that lead from the row to the leaf's Tables
}
