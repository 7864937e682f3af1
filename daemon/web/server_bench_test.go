package web_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// unnested is books on PostgreSQL in which charges are nothing but one statement, with a pool of its own.
type unnested struct {
	*store.Store
	db *sql.DB
}

func (u unnested) Charge(ctx context.Context, of func() billing.Batch) error {
	batch := of()
	var keys, used, ops []string
	var debits, hours, paid []int64
	for id, n := range batch.Debits {
		keys, debits = append(keys, id), append(debits, n)
	}
	for k, c := range batch.Usage {
		used, hours, ops, paid = append(used, k.KeyID), append(hours, k.Hour), append(ops, string(k.Op)), append(paid, c.Paid)
	}
	_, err := u.db.ExecContext(ctx, `WITH debit AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS d (id, n)),
		locked AS (SELECT keys.id, n FROM keys JOIN debit ON debit.id = keys.id WHERE credits >= n ORDER BY keys.id FOR UPDATE OF keys),
		debited AS (UPDATE keys SET credits = credits - n, spent = spent + n FROM locked WHERE keys.id = locked.id)
		INSERT INTO usage (key_id, hour, op, paid, free)
			SELECT *, 0 FROM unnest($3::text[], $4::bigint[], $5::text[], $6::bigint[]) AS u (key_id, hour, op, paid) ORDER BY key_id
			ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = usage.paid + excluded.paid`, keys, debits, used, hours, ops, paid)
	return err
}

// primed is books whose meter remembers every key before it charges any.
type primed struct {
	billing.Store
	records map[string][]billing.Record // by owner; nil once all are remembered
}

func (p *primed) Records(ctx context.Context, owner string) ([]billing.Record, error) {
	if p.records != nil {
		return p.records[owner], nil
	}
	return p.Store.Records(ctx, owner)
}

func (p *primed) Charge(ctx context.Context, batch func() billing.Batch) error {
	if p.records != nil {
		batch()
		return nil
	}
	return p.Store.Charge(ctx, batch)
}

// direct charges calls at meters in turns, without HTTP.
type direct struct {
	meters []*billing.Meter
	calls  []billing.Call
	conns  int
	made   int
	taken
}

func (d *direct) run(b *testing.B, calls int) time.Duration {
	b.Helper()
	each := max(1, calls/d.conns)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range d.conns {
		all.Go(func() {
			times := make([]time.Duration, 0, each)
			for n := range each {
				begin := time.Now()
				call := d.calls[(i*len(d.calls)/d.conns+d.made+n)%len(d.calls)]
				if _, err := d.meters[i%len(d.meters)].Charge(b.Context(), call); err != nil {
					b.Error(err)
					return
				}
				times = append(times, time.Since(begin))
			}
			d.add(times)
		})
	}
	all.Wait()
	d.made += each
	return time.Since(begin)
}

// issueOnServer makes n keys with credits in the books at place, and returns their plaintexts.
func issueOnServer(b *testing.B, d *daemontest.Daemon, s *store.Store, place string, n int) (secrets []string) {
	b.Helper()
	u := &unsaved{Store: s}
	keys, err := account.OpenKeys(b.Context(), account.Config{Store: u, Now: d.Clock.Now})
	if err != nil {
		b.Fatal(err)
	}
	var ids, hashes, owners []string
	for i := range n {
		issued, err := keys.Issue(b.Context(), account.NewKey{
			OwnerID: ownerOf(i), Name: "x", Tier: api.TierEnterprise, Consent: api.ConsentAggregated,
		})
		if err != nil {
			b.Fatal(err)
		}
		secrets, owners = append(secrets, issued.Key), append(owners, ownerOf(i))
	}
	for _, k := range u.keys {
		ids, hashes = append(ids, k.ID), append(hashes, hex.EncodeToString(k.Hash[:]))
	}
	db := testbed.SQL(b, place, store.File)
	for _, act := range []struct {
		text string
		args []any
	}{
		{"INSERT INTO owners (id, tier, created_at) SELECT DISTINCT id, 'enterprise', 1 FROM unnest(?::text[]) AS o (id)", []any{owners}},
		{`INSERT INTO keys (id, hash, owner_id, name, tier, consent, created_at, credits)
			SELECT id, decode(hash, 'hex'), owner, 'x', 'enterprise', 'aggregated', 1, 1000000000
			FROM unnest(?::text[], ?::text[], ?::text[]) AS k (id, hash, owner)`, []any{ids, hashes, owners}},
		{`INSERT INTO ledger (key_id, amount, kind, reason, at)
			SELECT id, 1000000000, 'grant', 'x', 1 FROM unnest(?::text[]) AS k (id)`, []any{ids}},
	} {
		if _, err := db.ExecContext(b.Context(), act.text, act.args...); err != nil {
			b.Fatal(err)
		}
	}
	return secrets
}

// BenchmarkFreshOnServer charges with one and more keys at one and at three nodes on one PostgreSQL, each with pools and a meter of its
// own, from 64 callers; and in place of the bare handler the same with books that are nothing but one statement for each batch. charges
// calls the meters themselves: ratio is what is reached of the statement. fresh calls GET /v1/fresh.
func BenchmarkFreshOnServer(b *testing.B) {
	const conns = 64
	server := testbed.NewServer(b)
	d := daemontest.Start(b)
	key := d.Key(b, api.TierEnterprise)
	for _, n := range []int{1, 64, 100_000} {
		for _, nodes := range []int{1, 3} {
			b.Run(fmt.Sprintf("keys=%d/nodes=%d", n, nodes), func(b *testing.B) {
				schema := fmt.Sprintf("bench_%d_%d_%d", n, nodes, b.N)
				url := server.URL(fmt.Sprintf("127.0.0.1:%d", server.Port))
				m := onServer(b, d, key, url, schema, n, nodes)
				b.Run("charges", func(b *testing.B) {
					compare(b, &direct{meters: m.meters[0], calls: m.calls, conns: conns}, &direct{meters: m.meters[1], calls: m.calls, conns: conns})
				})
				b.Run("fresh", func(b *testing.B) {
					compare(b, newLoads(b, m.urls[0], m.requests, conns), newLoads(b, m.urls[1], m.requests, conns))
				})
			})
		}
	}
}

// nodes are those of a benchmark: the whole ones, and those with a bare statement.
type nodes struct {
	meters   [2][]*billing.Meter
	urls     [2][]string
	calls    []billing.Call
	requests [][]byte
}

// onServer opens nodes on a schema with so many keys.
func onServer(b *testing.B, d *daemontest.Daemon, key, url, schema string, keys, count int) (m nodes) {
	b.Helper()
	place := url + "&schema=" + schema
	var secrets []string
	records := map[string][]billing.Record{}
	for node := range count {
		s, err := store.Open(b.Context(), place, d.Clock.Now())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		db, err := sql.Open("pgx", url+"&options=-csearch_path%3D"+schema)
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxIdleConns(3)
		b.Cleanup(func() { _ = db.Close() })
		if node == 0 {
			secrets = issueOnServer(b, d, s, place, keys)
			for i, secret := range secrets {
				owner := ownerOf(i)
				records[owner] = append(records[owner], billing.Record{KeyID: secret[:api.KeyIDLength], Credits: 1_000_000_000})
				m.calls = append(m.calls, billing.Call{
					KeyID: secret[:api.KeyIDLength], OwnerID: owner, Tier: api.TierEnterprise, Op: api.OpFresh, Pack: api.PackCrypto,
				})
				m.requests = append(m.requests, freshRequest(secret, "identity"))
			}
		}
		known, err := account.OpenKeys(b.Context(), account.Config{Store: s, Now: d.Clock.Now})
		if err != nil {
			b.Fatal(err)
		}
		for i, books := range []billing.Store{s, unnested{s, db}} {
			p := &primed{books, records}
			meter := billing.New(billing.Config{Store: p, Now: d.Clock.Now, CatchUp: func() error { return nil }})
			remember(b, meter, secrets)
			p.records = nil
			m.meters[i] = append(m.meters[i], meter)
			m.urls[i] = append(m.urls[i], serveFresh(b, d, key, gate.Config{Keys: known, Meter: meter}))
		}
	}
	return m
}
