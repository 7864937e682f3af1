-- Purchases of credits.
CREATE TABLE deposits (
    id          TEXT PRIMARY KEY,
    owner_id    TEXT NOT NULL REFERENCES owners (id),
    key_id      TEXT REFERENCES keys (id), -- that was named; NULL for the owner's oldest
    pack        TEXT NOT NULL,
    credits     INTEGER NOT NULL,
    amount      INTEGER NOT NULL, -- micro-USDG: the price and a slot, which makes it unique
    nonce       BLOB NOT NULL UNIQUE,
    status      TEXT NOT NULL,    -- pending, verified or expired
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    held        INTEGER NOT NULL DEFAULT 1, -- 1 while no other deposit may have the amount
    tx_hash     BLOB,
    payer       TEXT,
    verified_at INTEGER,
    credited    TEXT REFERENCES keys (id) -- the key that got the credits
) STRICT;

CREATE INDEX deposits_by_owner ON deposits (owner_id, created_at);
CREATE INDEX deposits_pending ON deposits (expires_at) WHERE status = 'pending';
CREATE UNIQUE INDEX deposits_by_amount ON deposits (amount) WHERE held = 1;

-- What a transfer has paid for, where that is a deposit; spent_on says deposit then.
ALTER TABLE transfers ADD COLUMN deposit_id TEXT REFERENCES deposits (id);

-- How far the chain was looked at: the next block, and the time of the last one.
CREATE TABLE scan (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    next     INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL
) STRICT;
