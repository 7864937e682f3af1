package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/store/database"
)

// verifyRows is how many rows Verify reads at a time.
const verifyRows = 64

// Verify reads every stored state back and returns how many there are, and for at most limit of those that are damaged which.
func (h *History) Verify(ctx context.Context, limit int) (states int, damaged []string, err error) {
	for last := int64(0); ; {
		rows, err := database.Query(ctx, h.db.Read, func(rows *sql.Rows) (r row, err error) {
			return r, rows.Scan(&r.id, &r.pack, &r.version, &r.generatedAt, &r.keyframe, &r.sum, &r.body)
		}, "SELECT "+columns+" FROM pulses WHERE id > ? ORDER BY id LIMIT ?", last, verifyRows)
		if err != nil {
			return states, damaged, fmt.Errorf("read states: %w", err)
		}
		if len(rows) == 0 {
			return states, damaged, nil
		}
		for _, r := range rows {
			content, err := h.decode(ctx, h.db.Read, r)
			if err == nil {
				_, err = r.pulse(content)
			}
			if err != nil && !errors.Is(err, ErrDamaged) {
				return states, damaged, err
			}
			if err != nil && len(damaged) < limit {
				damaged = append(damaged, fmt.Sprintf("state %d of %s: %v", r.id, r.pack, err))
			}
			states++
			last = r.id
		}
	}
}
