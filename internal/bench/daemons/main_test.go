package daemons_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
)

func TestMain(m *testing.M) {
	daemontest.Overlap(4)
	m.Run()
}
