package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type witnessOptions struct {
	*streams
	service func(address string, p sdk.Payer) (*sdk.Client, error)
	dir     func() string

	name, listen, pack, key string
}

const witnessHelp = `Sign the logs of other services as a witness of a single history (C2SP tlog-witness).

A service sends each checkpoint of its log here, with a proof that it follows the last one. The witness signs it, but
never one of another history: its signature on a checkpoint proves that two parties saw the same. The witness records
what it signs before it sends the signature, in witness below the data directory of ctx; only one process at a time
can use that directory.`

func newWitness(f *factory) *cobra.Command {
	dir := func() string { return filepath.Join(f.Wallets.DataDir(), "witness") }
	o := &witnessOptions{streams: f.streams, service: f.PayingClient, dir: dir}
	c := &cobra.Command{Use: "witness", Short: "Sign the logs of other services as a witness",
		Long: witnessHelp}
	key := f.Command(&cobra.Command{
		Use: "key", Short: "Show the verifier key of the witness, made if there is none", Args: cobra.NoArgs,
		Example: "  ctx verify witness key --name witness.example.com/1",
	}, cli.FieldsIn(witnessKey{}), func(ctx context.Context, _ []string) error { return o.showKey(ctx) })
	key.Flags().StringVar(&o.name, "name", "", "the `name` of the witness, for a new key (default random)")
	add := f.Command(&cobra.Command{
		Use: "add URL", Short: "Trust the log of a service and sign its checkpoints",
		Example: "  ctx verify witness add https://context.example.com --pack crypto",
	}, cli.FieldsIn(trustedLog{}), func(ctx context.Context, args []string) error {
		o.pack = cmp.Or(o.pack, api.DefaultPack)
		return o.add(ctx, args[0])
	})
	add.Flags().StringVar(&o.key, "key", "", "the verifier `key` that the log must have; without it, trust the current one")
	f.Packed(add, &o.pack, "the `pack` whose log it is (default "+api.DefaultPack+")", 1, 1)
	serve := f.Command(&cobra.Command{
		Use: "serve", Short: "Sign checkpoints until Ctrl-C", Args: cobra.NoArgs,
		Long: "Sign checkpoints until Ctrl-C: POST /add-checkpoint. Put a TLS proxy in front of it, such as a web server with a\n" +
			"certificate.",
		Example: "  ctx verify witness serve --listen 127.0.0.1:9190",
	}, nil, func(ctx context.Context, _ []string) error { return o.serve(ctx) })
	serve.Flags().StringVar(&o.listen, "listen", "127.0.0.1:9190", "the `address` to listen on")
	return cli.Group(c, serve, key, add)
}

type witnessKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// trustedLog is the answer of witness add.
type trustedLog struct {
	Log  string `json:"log"`
	Key  string `json:"key"`
	Size int64  `json:"size"`
}

func (o *witnessOptions) showKey(ctx context.Context) error {
	key, err := o.readKey()
	if err != nil {
		return err
	}
	name, err := sdk.ParseWitnessKey(key.Public())
	if err != nil {
		return err
	}
	if o.name != "" && o.name != name {
		return cli.Invalid("the witness is called %s, and its key is of that name", name)
	}
	return o.Show(ctx, witnessKey{name, key.Public()}, &cli.Rows{Columns: []string{"key"}, Bare: true, Rows: [][]string{{key.Public()}}})
}

// readKey reads the private key, made where there is none.
func (o *witnessOptions) readKey() (*sdk.WitnessKey, error) {
	unlock, err := o.lock("key", true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	file := filepath.Join(o.dir(), "key")
	text, err := os.ReadFile(file)
	if err == nil {
		key, err := sdk.ReadWitnessKey(string(text))
		if err != nil {
			return nil, cli.Invalid("%s: %w", file, err)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Invalid("%w", err)
	}
	name := o.name
	if name == "" {
		var chance [4]byte
		_, _ = rand.Read(chance[:]) // it never fails
		name = "ctx-witness/" + hex.EncodeToString(chance[:])
	}
	key, err := sdk.NewWitnessKey(name)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return key, atomicfile.Write(file, []byte(key.Secret()+"\n"), 0o600)
}

func (o *witnessOptions) logFile(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return filepath.Join(o.dir(), "logs", hex.EncodeToString(sum[:16])+".json")
}

func (o *witnessOptions) load(origin string) (log sdk.WitnessedLog, err error) {
	text, err := os.ReadFile(o.logFile(origin))
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &log)
	}
	return log, err
}

func (o *witnessOptions) save(origin string, log sdk.WitnessedLog) error {
	text, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(o.logFile(origin), append(text, '\n'), 0o600)
}

// add trusts the log of a service.
func (o *witnessOptions) add(ctx context.Context, address string) error {
	client, err := o.service(address, nil)
	if err != nil {
		return err
	}
	entry, err := client.Log(o.pack).Newest(ctx)
	if err != nil {
		return err
	}
	p, err := sdk.VerifyEntry(*entry, o.key)
	if err != nil {
		return err
	}
	unlock, err := o.lock("add", true)
	if err != nil {
		return err
	}
	defer unlock()
	c := p.Checkpoint
	there, err := o.load(c.Origin)
	if err != nil {
		return err
	}
	if there.Key != "" && there.Key != c.Key {
		return &sdk.ProofError{Reason: sdk.ProofOtherKey, Err: fmt.Errorf("the log %s is trusted with the key %s, and now it has %s",
			c.Origin, there.Key, c.Key)}
	}
	if there.Key == "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(o.logFile(c.Origin)), 0o700),
			o.save(c.Origin, sdk.WitnessedLog{Key: c.Key})); err != nil {
			return err
		}
	}
	return o.Show(ctx, trustedLog{c.Origin, c.Key, c.Size},
		&cli.Rows{Columns: []string{"log", "key", "size"}, Wide: 1, Rows: [][]string{{c.Origin, c.Key, fmt.Sprint(c.Size)}}})
}

// lock has one process at a time do something.
func (o *witnessOptions) lock(what string, wait bool) (unlock func(), err error) {
	if err := os.MkdirAll(o.dir(), 0o700); err != nil {
		return nil, cli.Invalid("%w", err)
	}
	lock := flock.New(filepath.Join(o.dir(), what+".lock"))
	held := true
	if wait {
		err = lock.Lock()
	} else {
		held, err = lock.TryLock()
	}
	if err != nil || !held {
		return nil, cli.Invalid("another ctx verify witness %s uses %s", what, o.dir())
	}
	return func() { _ = lock.Unlock() }, nil
}

// serve signs checkpoints until ctx ends.
func (o *witnessOptions) serve(ctx context.Context) error {
	unlock, err := o.lock("serve", false)
	if err != nil {
		return err
	}
	defer unlock()
	key, err := o.readKey()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return cli.Invalid("--listen: %w", err)
	}
	server := &http.Server{Handler: &sdk.Witness{Key: key, Now: o.Now, Load: o.load, Save: o.save},
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	fmt.Fprintf(o.Out, "http://%s\n", listener.Addr())
	o.Note("signing as %s", key)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(rest)
}
