-- What was charged and is not in keys, usage, free_calls and traces yet: one row for each batch, so that charging many keys writes no more
-- pages than charging one. The rows are moved into those tables together, in one transaction that leaves none here. batch is JSON:
-- {"debits": {KEY: CREDITS}, "usage": [{"k": KEY, "h": HOUR, "o": OP, "p": PAID, "f": FREE}], "free": [{"k": KEY, "at": MS, "n": CALLS}],
-- "traces": [{"k": KEY, "at": MS, "o": OP, "pack": PACK}]}
CREATE TABLE charges (
    id    INTEGER PRIMARY KEY, -- in the order of the batches
    batch TEXT NOT NULL
) STRICT;
