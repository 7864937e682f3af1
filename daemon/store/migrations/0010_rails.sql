-- Payments on several chains, each with one token: a rail. What was there is of the first, whose books are rows of 'l2chain'. Whatever the
-- chain names, such as a transaction, is named together with its rail.
DROP INDEX transfers_by_use;
DROP INDEX transfers_unsettled;
DROP INDEX transfers_waiting;
DROP INDEX transfers_vanished;
DROP INDEX paid_calls_by_time;
DROP INDEX deposits_by_owner;
DROP INDEX deposits_pending;
DROP INDEX deposits_by_amount;
DROP INDEX deposits_by_nonce_alone;
DROP INDEX settlements_by_identifier;
DROP INDEX settlements_pending;
DROP INDEX settlements_kept;
DROP INDEX settlement_txs_by_settlement;
DROP INDEX settlement_txs_by_sender;
ALTER TABLE transfers RENAME TO old_transfers;
ALTER TABLE paid_calls RENAME TO old_paid_calls;
ALTER TABLE deposits RENAME TO old_deposits;
ALTER TABLE scan RENAME TO old_scan;
ALTER TABLE chain RENAME TO old_chain;
ALTER TABLE settlements RENAME TO old_settlements;
ALTER TABLE settlement_txs RENAME TO old_settlement_txs;

-- Purchases of credits.
CREATE TABLE deposits (
    id             TEXT PRIMARY KEY, -- among those of all rails
    rail           TEXT NOT NULL,    -- on which it is to be paid, or was
    owner_id       TEXT NOT NULL REFERENCES owners (id),
    key_id         TEXT REFERENCES keys (id), -- that was named; NULL for the owner's oldest
    pack           TEXT NOT NULL,
    credits        INTEGER NOT NULL,
    amount         INTEGER NOT NULL, -- of the token's smallest unit: the price and a slot, which makes it unique
    nonce          BLOB NOT NULL,
    nonce_required INTEGER NOT NULL DEFAULT 0, -- it has no slot
    status         TEXT NOT NULL,    -- pending, verified or expired
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    held           INTEGER NOT NULL DEFAULT 1, -- 1 while no other deposit may have the amount
    tx_hash        BLOB,
    payer          TEXT,
    verified_at    INTEGER,
    credited       TEXT REFERENCES keys (id), -- the key that got the credits
    UNIQUE (rail, nonce)
) STRICT;
INSERT INTO deposits (id, rail, owner_id, key_id, pack, credits, amount, nonce, nonce_required, status, created_at, expires_at, held, tx_hash,
        payer, verified_at, credited)
    SELECT id, 'l2chain', owner_id, key_id, pack, credits, amount, nonce, nonce_required, status, created_at, expires_at, held, tx_hash, payer,
        verified_at, credited FROM old_deposits;

-- Transfers of the token of a rail to its treasury, as the chain has shown them. Each pays for one thing, once. Nothing that arrived is ever
-- dropped.
CREATE TABLE transfers (
    rail       TEXT NOT NULL,
    tx_hash    BLOB NOT NULL,    -- 32 bytes
    log_index  INTEGER NOT NULL, -- place among the logs of the transaction
    sender     TEXT NOT NULL,    -- address
    amount     INTEGER NOT NULL, -- of the token's smallest unit
    block      INTEGER NOT NULL,
    block_hash BLOB NOT NULL,
    at         INTEGER NOT NULL, -- the block's time, Unix milliseconds
    spent_on   TEXT NOT NULL,    -- '' on nothing yet; call, deposit, waiting (for its block to be safe, then deposit) or written-off
    deposit_id TEXT REFERENCES deposits (id),
    note       TEXT NOT NULL DEFAULT '', -- why it fits no deposit, or what the operator said of it
    settled    TEXT NOT NULL DEFAULT 'no', -- no: it may still vanish; final; vanished
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (rail, tx_hash, log_index)
) STRICT, WITHOUT ROWID;
INSERT INTO transfers (rail, tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, deposit_id, note, settled, seen_at)
    SELECT 'l2chain', tx_hash, log_index, sender, amount, block, block_hash, at, spent_on, deposit_id, note, settled, seen_at
    FROM old_transfers;

-- Calls that were paid one by one, with the answer for who asks again.
CREATE TABLE paid_calls (
    rail        TEXT NOT NULL,
    tx_hash     BLOB NOT NULL,
    log_index   INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    op          TEXT NOT NULL,
    payer       TEXT NOT NULL,
    at          INTEGER NOT NULL, -- of the answer
    body        BLOB,             -- NULL when it is kept no longer
    PRIMARY KEY (rail, tx_hash),
    FOREIGN KEY (rail, tx_hash, log_index) REFERENCES transfers (rail, tx_hash, log_index)
) STRICT, WITHOUT ROWID;
INSERT INTO paid_calls (rail, tx_hash, log_index, fingerprint, op, payer, at, body)
    SELECT 'l2chain', tx_hash, log_index, fingerprint, op, payer, at, body FROM old_paid_calls;

-- How far each chain was looked at: the next block, and the time of the last one.
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan (rail, next, seen_at) SELECT 'l2chain', next, seen_at FROM old_scan;

-- The chain that the transfers and deposits of a rail are on, by its first block.
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain (rail, genesis) SELECT 'l2chain', genesis FROM old_chain;

-- Payments by authorizations (EIP-3009) that are settled for their payers. The row is there before anything is broadcast, and for good:
-- what an authorization has paid for, whoever submits it, its row says.
CREATE TABLE settlements (
    rail         TEXT NOT NULL,
    payer        TEXT NOT NULL,    -- address in lower case
    nonce        BLOB NOT NULL,    -- of the authorization, 32 bytes
    recipient    TEXT NOT NULL,
    value        INTEGER NOT NULL, -- of the token's smallest unit
    valid_after  INTEGER NOT NULL, -- Unix seconds, as signed; so is the next
    valid_before INTEGER NOT NULL,
    signature    BLOB NOT NULL,
    identifier   TEXT NOT NULL,    -- of the payment, by the payer; '' for none
    payload      TEXT NOT NULL,    -- digest of what was presented
    op           TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,    -- of the request
    pack         TEXT NOT NULL DEFAULT '', -- of credits that it buys, '' for a call; the next two say the rest
    credits      INTEGER NOT NULL DEFAULT 0,
    key_id       TEXT REFERENCES keys (id), -- that got them
    state        TEXT NOT NULL,    -- pending, settled or failed
    why          TEXT NOT NULL DEFAULT '', -- it has failed
    at           INTEGER NOT NULL, -- of the answer
    done_at      INTEGER,          -- when it was settled or failed
    tx_hash      BLOB,             -- with log_index, the transfer that has paid
    log_index    INTEGER,
    facilitator  TEXT NOT NULL DEFAULT '', -- host that settles it, '' where a key of the service does
    body         BLOB,             -- NULL when it is kept no longer
    PRIMARY KEY (rail, payer, nonce),
    FOREIGN KEY (rail, tx_hash, log_index) REFERENCES transfers (rail, tx_hash, log_index)
) STRICT, WITHOUT ROWID;
INSERT INTO settlements (rail, payer, nonce, recipient, value, valid_after, valid_before, signature, identifier, payload, op, fingerprint,
        state, why, at, done_at, tx_hash, log_index, body)
    SELECT 'l2chain', payer, nonce, recipient, value, valid_after, valid_before, signature, identifier, payload, op, fingerprint, state, why,
        at, done_at, tx_hash, log_index, body FROM old_settlements;

-- The transactions that were signed for a settlement, as they are broadcast.
CREATE TABLE settlement_txs (
    id            INTEGER PRIMARY KEY, -- in the order in which they were signed
    rail          TEXT NOT NULL,
    hash          BLOB NOT NULL,
    payer         TEXT NOT NULL,
    nonce         BLOB NOT NULL,
    sender        TEXT NOT NULL,    -- address of the key that pays the gas
    account_nonce INTEGER NOT NULL,
    raw           BLOB NOT NULL,
    block         INTEGER NOT NULL, -- the newest one when it was signed
    at            INTEGER NOT NULL,
    gas_used      INTEGER,          -- NULL until it is in a block, as the next
    fee           TEXT,             -- in wei, a decimal number
    reverted      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (rail, hash),
    FOREIGN KEY (rail, payer, nonce) REFERENCES settlements (rail, payer, nonce)
) STRICT;
INSERT INTO settlement_txs (id, rail, hash, payer, nonce, sender, account_nonce, raw, block, at)
    SELECT id, 'l2chain', hash, payer, nonce, sender, account_nonce, raw, block, at FROM old_settlement_txs;

DROP TABLE old_settlement_txs;
DROP TABLE old_settlements;
DROP TABLE old_paid_calls;
DROP TABLE old_transfers;
DROP TABLE old_deposits;
DROP TABLE old_scan;
DROP TABLE old_chain;

CREATE INDEX transfers_by_use ON transfers (spent_on, rail, at);
CREATE INDEX transfers_unsettled ON transfers (rail, block) WHERE settled = 'no';
CREATE INDEX transfers_waiting ON transfers (deposit_id) WHERE spent_on = 'waiting';
CREATE INDEX transfers_vanished ON transfers (at) WHERE settled = 'vanished';
CREATE INDEX paid_calls_by_time ON paid_calls (at) WHERE body IS NOT NULL;
CREATE INDEX deposits_by_owner ON deposits (owner_id, created_at);
CREATE INDEX deposits_pending ON deposits (rail, expires_at) WHERE status = 'pending';
CREATE INDEX deposits_by_nonce_alone ON deposits (rail, expires_at) WHERE nonce_required = 1;
CREATE UNIQUE INDEX deposits_by_amount ON deposits (rail, amount) WHERE held = 1;
CREATE UNIQUE INDEX settlements_by_identifier ON settlements (rail, payer, identifier) WHERE identifier <> '';
CREATE INDEX settlements_by_payer ON settlements (payer, identifier) WHERE identifier <> ''; -- whatever the rail
CREATE INDEX settlements_pending ON settlements (rail, at) WHERE state = 'pending';
CREATE INDEX settlements_kept ON settlements (done_at) WHERE body IS NOT NULL;
CREATE INDEX settlement_txs_by_settlement ON settlement_txs (rail, payer, nonce);
CREATE INDEX settlement_txs_by_sender ON settlement_txs (rail, sender, account_nonce);
