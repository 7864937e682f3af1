// Package programs has the tests that start both programs, kill them and wear them down: kills at every moment, a soak, and a cluster
// whose nodes, database and connections fail.
//
// The programs are built of the checkout when the tests start, with the race detector where the tests have it.
package programs
