package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/sdk/api"
)

// PruneUnpaid drops what was to be paid and was not, once that ended before the given time and nothing can pay it any more: purchases that
// have expired and that no transfer is of, and settlements that have failed, where the scanner is past the end of their authorization.
// The newest transaction of a gas key stays with its settlement: the next takes its number from it.
func (s *Store) PruneUnpaid(ctx context.Context, before time.Time) error {
	return s.db.TxLeading(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM deposits WHERE status = ? AND held = 0 AND expires_at < ?
			AND NOT EXISTS (SELECT 1 FROM transfers WHERE deposit_id = deposits.id)
			AND expires_at < (SELECT seen_at - ? FROM scan WHERE scan.rail = deposits.rail)`,
			api.DepositExpired, before.UnixMilli(), (api.DepositGrace + surelySeen).Milliseconds()); err != nil {
			return fmt.Errorf("prune unpaid purchases: %w", err)
		}
		type key struct {
			rail, payer string
			nonce       []byte
		}
		ended, err := database.Query(ctx, tx, func(rows *sql.Rows) (k key, err error) { return k, rows.Scan(&k.rail, &k.payer, &k.nonce) },
			`SELECT rail, payer, nonce FROM settlements WHERE state = 'failed' AND done_at < ?1
				AND valid_before < (SELECT seen_at / 1000 - ?2 FROM scan WHERE scan.rail = settlements.rail)
				AND NOT EXISTS (SELECT 1 FROM settlement_txs t WHERE t.rail = settlements.rail AND t.payer = settlements.payer
					AND t.nonce = settlements.nonce AND t.account_nonce = (SELECT max(account_nonce) FROM settlement_txs o
						WHERE o.rail = t.rail AND o.sender = t.sender))
			ORDER BY rail, done_at LIMIT ?3`, before.UnixMilli(), int64(surelySeen.Seconds()), maxPruned)
		if err != nil {
			return fmt.Errorf("look for failed settlements: %w", err)
		}
		for _, k := range ended {
			for _, from := range []string{"settlement_txs", "purchases", "settlements"} {
				if _, err := tx.ExecContext(ctx, "DELETE FROM "+from+" WHERE "+byKey, k.rail, k.payer, k.nonce); err != nil {
					return fmt.Errorf("prune %s: %w", from, err)
				}
			}
		}
		return nil
	})
}

// PruneWriting drops what language models took for single owners on the days before one; that of all stays.
func (s *Store) PruneWriting(ctx context.Context, day string) error {
	return s.db.ExecLeading(ctx, "DELETE FROM writing WHERE day < ? AND day LIKE '% %'", day)
}

// maxPruned is how many failed settlements PruneUnpaid drops in one transaction: charges wait for no more.
const maxPruned = 500
