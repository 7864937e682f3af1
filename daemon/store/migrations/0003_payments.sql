-- Transfers of the token to the treasury, as the chain has shown them. Each pays for one thing, once. Nothing that arrived is ever dropped.
CREATE TABLE transfers (
    tx_hash    BLOB NOT NULL,    -- 32 bytes
    log_index  INTEGER NOT NULL,
    sender     TEXT NOT NULL,    -- address
    amount     INTEGER NOT NULL, -- micro-USDG
    block      INTEGER NOT NULL,
    block_hash BLOB NOT NULL,
    at         INTEGER NOT NULL, -- the block's time, Unix milliseconds
    spent_on   TEXT NOT NULL,    -- '' on nothing yet; call
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
