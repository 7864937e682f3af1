package demo_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestDemoCluster: the nodes of a demo have one key, one chain and one history, and each has a page, a mail and a file of its own. The one
// that hosts the chain does so again where the others look for it.
func TestDemoCluster(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	var log testbed.Log
	begin := func(dir string) (*daemon.Daemon, demo.Info) {
		t.Helper()
		d, info, err := daemon.OpenDemo(t.Context(), daemon.Config{
			DataDir: dir, StoreURL: place, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Hour},
			Logger: log.Logger(),
		}, demo.Play{ChainListen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		return d, info
	}
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	type started struct {
		*daemon.Daemon
		info demo.Info
	}
	second := make(chan started, 1)
	go func() { // which waits for the history of the first, or is that itself
		d, info := begin(dirs[1])
		second <- started{d, info}
	}()
	first, one := begin(dirs[0])
	other := <-second
	two := other.info
	if one.APIKey != two.APIKey || one.Chain == nil || *one.Chain != *two.Chain || *one.Wallet != *two.Wallet {
		t.Errorf("they are of two demos: %+v, %+v", one, two)
	}
	if one.BaseURL == two.BaseURL || one.Outbox == two.Outbox {
		t.Errorf("they are one node: %+v, %+v", one, two)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for i, dir := range []string{dirs[1], dirs[0]} { // in another order
		again, info := begin(dir)
		defer again.Close()
		if i == 0 { // which leads
			if err := again.Refresh(t.Context(), api.PackCrypto); err != nil || log.Count("stale_upstream") > 0 {
				t.Errorf("its market is that of the day before: %v, %s", err, log.String())
			}
		}
		if info.APIKey != one.APIKey || *info.Chain != *one.Chain {
			t.Errorf("%s has come back as another: %+v", dir, info)
		}
	}
	if res, err := http.Get(one.Chain.RPCURL); err != nil {
		t.Errorf("nobody hosts the chain: %v", err)
	} else {
		_ = res.Body.Close()
	}
}
