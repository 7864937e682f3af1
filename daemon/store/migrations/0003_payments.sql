-- Transfers of the token to the treasury, as the chain has shown them. Each pays for one thing, once. Nothing that arrived is ever dropped.
CREATE TABLE transfers (
    tx_hash    BLOB NOT NULL,    -- 32 bytes
    log_index  INTEGER NOT NULL,
    sender     TEXT NOT NULL,    -- address
    amount     INTEGER NOT NULL, -- micro-USDG
    block      INTEGER NOT NULL,
    block_hash BLOB NOT NULL,
    at         INTEGER NOT NULL, -- the block's time, Unix milliseconds
    spent_on   TEXT NOT NULL,    -- '' on nothing yet; call, deposit or written-off
    deposit_id TEXT REFERENCES deposits (id),
    note       TEXT NOT NULL DEFAULT '', -- why it fits no deposit, or what the operator said of it
    settled    TEXT NOT NULL DEFAULT 'no', -- no: it may still vanish; final; vanished
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (tx_hash, log_index)
) STRICT, WITHOUT ROWID;

CREATE INDEX transfers_by_use ON transfers (spent_on, at);
CREATE INDEX transfers_unsettled ON transfers (block) WHERE settled = 'no';

-- Calls that were paid one by one, with the answer for who asks again.
CREATE TABLE paid_calls (
    tx_hash     BLOB PRIMARY KEY,
    log_index   INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    op          TEXT NOT NULL,
    payer       TEXT NOT NULL,
    at          INTEGER NOT NULL, -- of the answer
    body        BLOB,             -- NULL when it is kept no longer
    FOREIGN KEY (tx_hash, log_index) REFERENCES transfers (tx_hash, log_index)
) STRICT, WITHOUT ROWID;

CREATE INDEX paid_calls_by_time ON paid_calls (at) WHERE body IS NOT NULL;

-- Purchases of credits.
CREATE TABLE deposits (
    id          TEXT PRIMARY KEY,
    owner_id    TEXT NOT NULL REFERENCES owners (id),
    key_id      TEXT REFERENCES keys (id), -- that was named; NULL for the owner's oldest
    pack        TEXT NOT NULL,
    credits     INTEGER NOT NULL,
    amount      INTEGER NOT NULL, -- micro-USDG, the price and the slot
    slot        INTEGER NOT NULL, -- 0 to 9999, what makes the amount unique
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
CREATE INDEX deposits_by_amount ON deposits (amount, expires_at);
CREATE UNIQUE INDEX deposits_by_slot ON deposits (amount) WHERE held = 1;

-- What is remembered from one look at the chain to the next.
CREATE TABLE chain (
    name  TEXT PRIMARY KEY, -- genesis, cursor, cursor_hash
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
