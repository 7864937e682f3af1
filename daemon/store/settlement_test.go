package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
)

// TestSettlementsOfAPayer: of somebody with 20,000 settlements, those for a request and those that failed are found by an index that has no
// other rows of theirs, and nothing is sorted.
func TestSettlementsOfAPayer(t *testing.T) {
	t.Parallel()
	place := testbed.Place(t)
	s, err := store.Open(t.Context(), place, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := testbed.SQL(t, place, store.File)
	fill, finish, explain := `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO settlements (rail, payer, nonce, recipient, value, valid_after, valid_before, signature, identifier, payload, op, fingerprint,
			state, at, done_at)
		SELECT 'r', 'p', CAST(printf('%032d', i) AS BLOB), '', 1, 0, 0, x'', '', '', 'fresh', 'f' || i % 100,
			CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'settled' END, i, i FROM n`, "ANALYZE", "EXPLAIN QUERY PLAN "
	if database.IsURL(place) {
		fill = strings.NewReplacer("CAST(printf('%032d', i) AS BLOB)", "decode(lpad(i::text, 64, '0'), 'hex')", "x''", "''").Replace(fill)
		explain = "EXPLAIN "
	}
	for _, text := range []string{fill, finish} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		text, index string
		args        []any
	}{
		{store.SettledForText, "settlements_by_request", []any{"r", "p", "f1", 5}},
		{store.StandingText, "settlements_failed", []any{"r", "p", 5, false}},
		{store.StandingText, "settlements_under_way", []any{"r", "p", 5, false}},
	} {
		rows, err := db.QueryContext(t.Context(), explain+one.text, one.args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan strings.Builder
		for rows.Next() {
			var id, parent, unused int
			var line string
			into := []any{&line}
			if !database.IsURL(place) {
				into = []any{&id, &parent, &unused, &line}
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		text := plan.String()
		if !strings.Contains(text, one.index) || strings.Contains(strings.ToUpper(text), "TEMP B-TREE") || strings.Contains(text, "Sort") {
			t.Errorf("%s\nis answered by\n%s", one.text, text)
		}
	}
}
