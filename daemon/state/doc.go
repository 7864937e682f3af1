// Package state is pure state logic: the table of a state's leaves, search over it and the minute keys of history. It does no I/O,
// reads no clock and knows no pack. daemon/feed makes the table of each new state and daemon/reader searches it.
package state
