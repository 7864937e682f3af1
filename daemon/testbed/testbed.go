// Package testbed has what tests of the daemon's rooms stand on: places for databases, a PostgreSQL and the way to it, a log to read,
// and an address that stays free. It is a package of its own because a whole daemon for tests, which is in daemontest, needs the chain's
// libraries: tests that need no more than this do without them. Only tests import it.
package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// DeadAddress is an address on which nothing listens, and of which no system gives the port to who asks for any: what is started there, and
// again after it was killed, finds it free.
func DeadAddress() (string, error) {
	const first, ports, tries = 20_000, 12_000, 100
	var failed error
	for range tries {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		failed = err
	}
	return "", failed
}
