-- A batch of charges goes into keys, usage, free_calls and traces at once. What charges has that they have not goes there now, and charges
-- goes. A row of it is a batch, a JSON object, or an array: the last row that it is about, the keys whose debits up to that row are in the
-- tables, and those whose counts and free calls are. The traces of a row that is there are in no table.
CREATE TABLE moved (
    part   INTEGER NOT NULL, -- 1 for debits, 2 for counts and free calls
    key_id TEXT NOT NULL,
    upto   INTEGER NOT NULL, -- the last row
    PRIMARY KEY (part, key_id)
) STRICT, WITHOUT ROWID;
INSERT INTO moved
    SELECT parts.key, keys.value, max(batch ->> 0) FROM charges, json_each(batch) AS parts, json_each(parts.value) AS keys
    WHERE batch LIKE '[%' AND parts.key > 0 GROUP BY 1, 2;
DELETE FROM charges WHERE batch NOT LIKE '{%';

UPDATE keys SET credits = max(0, credits - debited.n), spent = spent + debited.n
    FROM (SELECT debit.key AS id, sum(debit.value) AS n FROM charges, json_each(batch, '$.debits') AS debit
        LEFT JOIN moved ON moved.part = 1 AND moved.key_id = debit.key
        WHERE charges.id > coalesce(upto, 0) GROUP BY debit.key) AS debited
    WHERE keys.id = debited.id;
INSERT INTO usage (key_id, hour, op, paid, free)
    SELECT u.value ->> 'k', u.value ->> 'h', u.value ->> 'o', sum(u.value ->> 'p'), sum(u.value ->> 'f')
    FROM charges, json_each(batch, '$.usage') AS u LEFT JOIN moved ON moved.part = 2 AND moved.key_id = u.value ->> 'k'
    WHERE charges.id > coalesce(upto, 0) GROUP BY 1, 2, 3
    ON CONFLICT (key_id, hour, op) DO UPDATE SET paid = paid + excluded.paid, free = free + excluded.free;
INSERT INTO free_calls (key_id, at, calls)
    SELECT f.value ->> 'k', f.value ->> 'at', f.value ->> 'n'
    FROM charges, json_each(batch, '$.free') AS f LEFT JOIN moved ON moved.part = 2 AND moved.key_id = f.value ->> 'k'
    WHERE charges.id > coalesce(upto, 0) ORDER BY charges.id;
INSERT INTO traces (key_id, at, op, pack)
    SELECT t.value ->> 'k', t.value ->> 'at', t.value ->> 'o', t.value ->> 'pack'
    FROM charges, json_each(batch, '$.traces') AS t ORDER BY charges.id;

DROP TABLE moved;
DROP TABLE charges;
