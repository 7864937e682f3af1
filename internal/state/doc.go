// Package state is the state of a pack and what is pure about it: the records that are kept of it, the table of its leaves,
// search over it and the minute keys of history. It does no I/O, reads no clock and knows no pack. daemon/pipeline makes a state,
// daemon/store keeps it, daemon/feed makes its table and daemon/reader searches it.
package state
