// Package state is the state of a pack and what is pure about it. It does no I/O and reads no clock, so that the daemon, ctx and the
// terminal UI read a state by the same code.
//
// # One state, parsed once
//
// At 20:05:02 the pipeline has compacted what the sources of a pack said into 24 KB of JSON, and calls Read. The Document goes on in the
// Pulse: its flags decide which ended, the brief is written from its tree and checked against it, and the feed puts it in the Edition.
// Whoever reads the edition, for an alert, a search, a citation, a page or the price of an ether, asks that Document for its Flags,
// Sources, Ages, Rows, Places, Sections, Table or one member, and parses nothing. States of the past are stored as bytes: Pulse.Read
// parses one where it is asked for. ctx and the terminal UI call Read for each state that they are sent.
//
// # A field of a row
//
// A number of a row is described once, as a ShownField: its name, whose end is its unit (priceUsd, change24hPct), where it stands in the
// state and the words that ask for it. From there lookup, changes, series, citations and the page have it, and human writes it by its name.
// A Layout adds what no name says: which fields stand in columns, the most important first, and in which groups. So a further number of a
// coin is a member of api.Mover and of the description of HTTP, a line where its source is read and one where the row is made, and one
// ShownField; a word in a Layout only where it is to stand in the overviews.
//
// # One view, many faces
//
// View is the model that ctx and the terminal UI draw, Sheet that of the page, and Answered and Moved make rows of answers for all faces.
// Each row says what it is called and has Cells with a text and a sign, in Columns or by itself. A face chooses how much of it it has room
// for and colours it; it writes no number and no age of its own. What is said of a row of a state that is overdue stands in ViewRow.Late,
// what its figures are about in ViewRow.About, how old a row of an answer is in ViewRow.Age: whatever else is to be said of every row in
// every face belongs there.
package state
