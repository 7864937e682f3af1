package demo_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain sees that a demo that is closed leaves nothing running.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// go-ethereum leaves these behind: the first for the life of the process, the second for a moment.
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"),
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}
