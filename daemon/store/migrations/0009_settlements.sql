-- Payments by authorizations (EIP-3009) that the service settles itself. The row is there before anything is broadcast, and for good: what
-- an authorization has paid for, whoever submits it, its row says.
CREATE TABLE settlements (
    payer        TEXT NOT NULL,    -- address in lower case
    nonce        BLOB NOT NULL,    -- of the authorization, 32 bytes
    recipient    TEXT NOT NULL,
    value        INTEGER NOT NULL, -- micro-USDG
    valid_after  INTEGER NOT NULL, -- Unix seconds, as signed; so is the next
    valid_before INTEGER NOT NULL,
    signature    BLOB NOT NULL,
    identifier   TEXT NOT NULL,    -- of the payment, by the payer; '' for none
    payload      TEXT NOT NULL,    -- digest of what was presented
    op           TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,    -- of the request
    state        TEXT NOT NULL,    -- pending, settled or failed
    why          TEXT NOT NULL DEFAULT '', -- it has failed
    at           INTEGER NOT NULL, -- of the answer
    done_at      INTEGER,          -- when it was settled or failed
    tx_hash      BLOB,             -- with log_index, the transfer that has paid
    log_index    INTEGER,
    body         BLOB,             -- NULL when it is kept no longer
    PRIMARY KEY (payer, nonce),
    FOREIGN KEY (tx_hash, log_index) REFERENCES transfers (tx_hash, log_index)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX settlements_by_identifier ON settlements (payer, identifier) WHERE identifier <> '';
CREATE INDEX settlements_pending ON settlements (at) WHERE state = 'pending';
CREATE INDEX settlements_kept ON settlements (done_at) WHERE body IS NOT NULL;

-- The transactions that were signed for a settlement, as they are broadcast.
CREATE TABLE settlement_txs (
    id            INTEGER PRIMARY KEY, -- in the order in which they were signed
    hash          BLOB NOT NULL UNIQUE,
    payer         TEXT NOT NULL,
    nonce         BLOB NOT NULL,
    sender        TEXT NOT NULL,    -- address of the key that pays the gas
    account_nonce INTEGER NOT NULL,
    raw           BLOB NOT NULL,
    block         INTEGER NOT NULL, -- the newest one when it was signed
    at            INTEGER NOT NULL,
    FOREIGN KEY (payer, nonce) REFERENCES settlements (payer, nonce)
) STRICT;

CREATE INDEX settlement_txs_by_settlement ON settlement_txs (payer, nonce);
CREATE INDEX settlement_txs_by_sender ON settlement_txs (sender, account_nonce);
