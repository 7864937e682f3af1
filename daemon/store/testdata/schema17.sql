PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795707313305);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795707313305);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795707313305);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795707313305);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795707313305);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795707313305);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795707313305);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795707313305);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795707313305);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795707313305);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795707313305);
INSERT INTO schema_migrations VALUES(12,'0012_charges.sql',1795707313305);
INSERT INTO schema_migrations VALUES(13,'0013_settlements_of_a_payer.sql',1795707313305);
INSERT INTO schema_migrations VALUES(14,'0014_charges_in_tables.sql',1795707313305);
INSERT INTO schema_migrations VALUES(15,'0015_attempts.sql',1795707313305);
INSERT INTO schema_migrations VALUES(16,'0016_watches.sql',1795707313305);
INSERT INTO schema_migrations VALUES(17,'0017_told.sql',1795707313305);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795707314590,NULL);
INSERT INTO owners VALUES('550c6fec-5984-4474-b0e4-e271c849adea','free',1795707314846,NULL);
CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,
    owner_id     TEXT NOT NULL REFERENCES owners (id),
    name         TEXT NOT NULL,
    tier         TEXT NOT NULL,
    consent      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    credits      INTEGER NOT NULL DEFAULT 0 CHECK (credits >= 0), -- left on this record
    spent        INTEGER NOT NULL DEFAULT 0                       -- ever debited from this record
, unmetered INTEGER NOT NULL DEFAULT 0, revokes_at INTEGER, pruned_at INTEGER) STRICT;
INSERT INTO keys VALUES('cv_test_5f0mxrc7',X'5228a2a5d5035fcaf7af55bf9a2c3bc1e2b9268df48fac91fc04588dc88f2ce6','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795707314590,1795707318144,NULL,9998,9,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_aA0jXttN',X'43557a0e06c0b5c61b1f6db06eb79d8b179d2e14507c8a944e3012f90c50c990','550c6fec-5984-4474-b0e4-e271c849adea','mine','free','aggregated',1795707314848,NULL,NULL,999,1,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_Usb8SP9K',X'067583ab49d47db51419d5b7ec768fe1aef8f280d993bf2048c2d24548fdd09c','550c6fec-5984-4474-b0e4-e271c849adea','spare','free','aggregated',1795707315064,1795707315065,1795707315068,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_dZ4ZB3Dd',X'58de687418624ad0ca844ec0d1d19ddf46c92895bf124d04c62b75f651e7a213','00000000-0000-4000-8000-000000000001','gone','enterprise','aggregated',1795707318167,NULL,NULL,0,0,1,NULL,NULL);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_5f0mxrc7',10000,'grant','demo',1795707314590);
INSERT INTO ledger VALUES(2,'cv_test_aA0jXttN',1000,'buy','781ca70d-eed9-400a-b3d1-c54d95d55fb5',1795707315060);
INSERT INTO ledger VALUES(3,'cv_test_5f0mxrc7',7,'grant','demo',1795707315191);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'brief',1,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'cite',1,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'fresh',2,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'search',1,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'snapshot',2,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'subscribe',1,0);
INSERT INTO usage VALUES('cv_test_5f0mxrc7',498807,'watch',1,0);
INSERT INTO usage VALUES('cv_test_Usb8SP9K',498807,'fresh',1,0);
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
CREATE TABLE traces (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    op     TEXT NOT NULL,
    pack   TEXT NOT NULL
) STRICT;
CREATE TABLE identities (
    kind       TEXT NOT NULL, -- email or wallet
    subject    TEXT NOT NULL, -- the address, as daemon/account writes it
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO identities VALUES('email','you@example.com','550c6fec-5984-4474-b0e4-e271c849adea',1795707314846);
CREATE TABLE challenges (
    hash       BLOB PRIMARY KEY,
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    links      TEXT REFERENCES owners (id), -- whom the identity is to be added to, NULL to sign in
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY,
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
, proved_at INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO sessions VALUES(X'089521ddcfa8ee4d5056dadf4d74c07fb6b3442393a1392d11b0c557756e82bd','550c6fec-5984-4474-b0e4-e271c849adea',1795707314846,1798299314846,1795707314846);
CREATE TABLE prompts (
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    pack       TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
CREATE TABLE writing (
    day           TEXT PRIMARY KEY, -- YYYY-MM-DD
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros   INTEGER NOT NULL  -- millionths of a US dollar
) STRICT, WITHOUT ROWID;
CREATE TABLE owner_briefs (
    owner_id     TEXT NOT NULL REFERENCES owners (id),
    pack         TEXT NOT NULL,
    generated_at INTEGER NOT NULL, -- of the state it is about
    prompt       BLOB NOT NULL,    -- SHA-256
    attempts     INTEGER NOT NULL, -- to write one about that state
    written_at   INTEGER NOT NULL,
    writer       TEXT NOT NULL,
    text         TEXT NOT NULL,    -- '' where the last attempt failed
    refused      TEXT NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
CREATE TABLE known_clients (
    hash    BLOB PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO known_clients VALUES(X'bc5fd2e63f05612f8be8b5fc08087e66725c9b7b26fe5718e74fda310dec427c',1795707314846);
CREATE TABLE invites (
    id         TEXT PRIMARY KEY, -- the first characters of the secret
    hash       BLOB NOT NULL UNIQUE,
    note       TEXT NOT NULL,    -- the operator's own, such as who it is for
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    used_at    INTEGER,
    used_by    TEXT REFERENCES owners (id)
) STRICT, WITHOUT ROWID;
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
INSERT INTO deposits VALUES('781ca70d-eed9-400a-b3d1-c54d95d55fb5','l2chain','550c6fec-5984-4474-b0e4-e271c849adea',NULL,'starter',1000,1000000,X'8e9b29b82dcd35cd3c929e23bceff5989f181592b8a278e39c71a24ecb37e357',0,'verified',1795707314849,1795709114000,1,X'344fe882dc9c601a95be4c90ca64f90777572d8e20841ed2c8d45bf5414a4a5b','0xA1d23FDD05394d75A97bF56c47F666B613B656C1',1795707315060,'cv_test_aA0jXttN');
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
INSERT INTO transfers VALUES('l2chain',X'344fe882dc9c601a95be4c90ca64f90777572d8e20841ed2c8d45bf5414a4a5b',0,'0xA1d23FDD05394d75A97bF56c47F666B613B656C1',1000000,3,X'0fd43657eae804f0941c49d42834e1bc7e6f803cbb99ba794102603e8812a6b8',1795707315000,'deposit','781ca70d-eed9-400a-b3d1-c54d95d55fb5','','no',1795707315060);
INSERT INTO transfers VALUES('l2chain',X'70605e2921c9f5e323eb09a4266fa5dccda4a95417add22ef95ef8904f4af83c',0,'0xA1d23FDD05394d75A97bF56c47F666B613B656C1',2000,2,X'd1ed492c85ba7fb39c0dd8745b39c84bc1c460df42646563e22367e617b4b2c8',1795707314000,'call',NULL,'','no',1795707314841);
CREATE TABLE paid_calls (
    rail        TEXT NOT NULL,
    tx_hash     BLOB NOT NULL,
    log_index   INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    op          TEXT NOT NULL,
    payer       TEXT NOT NULL,
    at          INTEGER NOT NULL, -- of the answer
    body        BLOB, signed BLOB,             -- NULL when it is kept no longer
    PRIMARY KEY (rail, tx_hash),
    FOREIGN KEY (rail, tx_hash, log_index) REFERENCES transfers (rail, tx_hash, log_index)
) STRICT, WITHOUT ROWID;
INSERT INTO paid_calls VALUES('l2chain',X'70605e2921c9f5e323eb09a4266fa5dccda4a95417add22ef95ef8904f4af83c',0,'87f5d138f12615ae19785fcdd3b414df30de0be2e29f9ec4cb3ee262e6c39da9','search','0xA1d23FDD05394d75A97bF56c47F666B613B656C1',1795707314841,X'7b226d617463686573223a5b7b2270617468223a22746f705f6d6f766572735b305d2e6964222c2276616c7565223a22626974636f696e222c2273636f7265223a317d5d2c22746f74616c223a392c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32365431353a33353a31342e3634345a222c226167655365636f6e6473223a302c22646174614167655365636f6e6473223a307d7d',NULL);
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',4,1795707315000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'5e008fb0666b653386ca4e565e55fb2c2d50c59dd82b315b398870e99fd55d04');
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
    body         BLOB, next_at INTEGER NOT NULL DEFAULT 0, told_at INTEGER,             -- NULL when it is kept no longer
    PRIMARY KEY (rail, payer, nonce),
    FOREIGN KEY (rail, tx_hash, log_index) REFERENCES transfers (rail, tx_hash, log_index)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE purchases (
    rail     TEXT NOT NULL, -- with the next two, the settlement
    payer    TEXT NOT NULL,
    nonce    BLOB NOT NULL,
    wallet   TEXT NOT NULL,        -- the payer, as identities spell it
    owner_id TEXT NOT NULL,        -- who is made where the wallet is nobody's by then
    key_id   TEXT NOT NULL UNIQUE, -- of the key that is made
    key_hash BLOB NOT NULL UNIQUE, -- SHA-256 of its plaintext, which is kept nowhere
    PRIMARY KEY (rail, payer, nonce),
    FOREIGN KEY (rail, payer, nonce) REFERENCES settlements (rail, payer, nonce)
) STRICT, WITHOUT ROWID;
CREATE TABLE first_identifiers (
    rail       TEXT NOT NULL,
    payer      TEXT NOT NULL,
    nonce      BLOB NOT NULL,
    identifier TEXT NOT NULL,    -- '' for none
    until      INTEGER NOT NULL, -- Unix seconds: the authorization ends
    PRIMARY KEY (rail, payer, nonce)
) STRICT, WITHOUT ROWID;
CREATE TABLE watches (
    id            TEXT PRIMARY KEY,
    owner_id      TEXT NOT NULL REFERENCES owners (id),
    key_id        TEXT NOT NULL, -- which may be pruned before what it has made is ended
    type          TEXT NOT NULL,
    pack          TEXT NOT NULL, -- '' for one that is about no pack
    arguments     TEXT NOT NULL, -- canonical JSON
    rule          TEXT NOT NULL, -- hash of type and arguments
    expires       INTEGER NOT NULL, -- 1: it lives as long as it is refreshed, and its refresh pays for it
    delivery      TEXT NOT NULL, -- its type
    target        TEXT NOT NULL, -- JSON, without secrets
    host          TEXT NOT NULL, -- that is asked, '' for none
    secret        BLOB NOT NULL, -- empty for none
    secret_before BLOB NOT NULL, -- which is signed with too, for a while
    sealed        INTEGER NOT NULL,
    before_until  INTEGER NOT NULL DEFAULT 0,
    log           TEXT NOT NULL, -- it is told what is in this log behind seq, and in later logs
    seq           INTEGER NOT NULL,
    created_at    INTEGER NOT NULL, -- Unix milliseconds, as all times here
    expires_at    INTEGER NOT NULL,
    paid_until    INTEGER NOT NULL,
    paused_at     INTEGER NOT NULL DEFAULT 0, -- unpaid
    suspended_at  INTEGER NOT NULL DEFAULT 0, -- its receiver has failed for too long
    ended_at      INTEGER NOT NULL DEFAULT 0, -- its last message is under way
    low_since     INTEGER NOT NULL DEFAULT 0, -- of credits.low
    last_at       INTEGER NOT NULL DEFAULT 0, -- when something was taken
    last_error    TEXT NOT NULL DEFAULT '',   -- a word
    failed_since  INTEGER NOT NULL DEFAULT 0,
    failures      INTEGER NOT NULL DEFAULT 0, -- attempts in a row
    gap           TEXT NOT NULL DEFAULT ''    -- cursor before the first event that was given up and of which nobody was told
) STRICT;
INSERT INTO watches VALUES('w_2d27d1fdc4d99c63746e1a5988cc0d1a','00000000-0000-4000-8000-000000000001','cv_test_5f0mxrc7','flag.changed','crypto','{"changes":["appeared","rose"],"pack":"crypto","severity":"warning"}','34b5bb8440fca3734bfe47b4d8b58562',0,'poll','{"type":"poll"}','',X'',X'',0,0,'contextd-demo/76a288767047d047/crypto',26,1795707318144,1827243318144,1795793718144,0,0,0,0,0,'',0,0,'');
CREATE TABLE watch_events (
    id   TEXT PRIMARY KEY,
    rule TEXT NOT NULL, -- or the id of a watch, for what is told to that alone
    at   INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE watch_deliveries (
    watch    TEXT NOT NULL REFERENCES watches (id),
    event    TEXT NOT NULL REFERENCES watch_events (id),
    cursor   TEXT NOT NULL, -- before the event
    next_at  INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (watch, event)
) STRICT, WITHOUT ROWID;
CREATE TABLE watch_cursors (
    pack TEXT PRIMARY KEY,
    log  TEXT NOT NULL,
    seq  INTEGER NOT NULL
) STRICT;
INSERT INTO watch_cursors VALUES('crypto','contextd-demo/76a288767047d047/crypto',26);
CREATE INDEX keys_by_owner ON keys (owner_id, created_at);
CREATE INDEX ledger_by_key ON ledger (key_id);
CREATE INDEX free_calls_by_key ON free_calls (key_id, at);
CREATE INDEX traces_by_time ON traces (at);
CREATE INDEX identities_by_owner ON identities (owner_id, created_at);
CREATE INDEX challenges_by_end ON challenges (expires_at);
CREATE INDEX sessions_by_owner ON sessions (owner_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX keys_retiring ON keys (revokes_at) WHERE revokes_at IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX keys_to_prune ON keys (revoked_at) WHERE revoked_at IS NOT NULL AND pruned_at IS NULL;
CREATE INDEX known_clients_by_time ON known_clients (seen_at);
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
CREATE INDEX settlements_by_payer ON settlements (payer, identifier) WHERE identifier <> '';
CREATE INDEX settlements_kept ON settlements (done_at) WHERE body IS NOT NULL;
CREATE INDEX settlement_txs_by_settlement ON settlement_txs (rail, payer, nonce);
CREATE INDEX settlement_txs_by_sender ON settlement_txs (rail, sender, account_nonce);
CREATE INDEX purchases_by_wallet ON purchases (wallet);
CREATE INDEX settlements_by_request ON settlements (rail, payer, fingerprint, done_at) WHERE state = 'settled';
CREATE INDEX settlements_failed ON settlements (rail, payer, done_at) WHERE state = 'failed';
CREATE INDEX settlements_due ON settlements (rail, next_at) WHERE state = 'pending';
CREATE INDEX settlements_under_way ON settlements (rail, payer) WHERE state = 'pending';
CREATE INDEX first_identifiers_by_end ON first_identifiers (until);
CREATE INDEX settlements_done ON settlements (rail, done_at) WHERE state = 'settled' AND facilitator = '';
CREATE INDEX watches_by_owner ON watches (owner_id, created_at);
CREATE INDEX watches_by_rule ON watches (rule);
CREATE INDEX watches_by_payment ON watches (paid_until);
CREATE INDEX watch_events_by_time ON watch_events (at);
CREATE INDEX watch_events_by_rule ON watch_events (rule, at);
CREATE INDEX watch_deliveries_by_time ON watch_deliveries (next_at);
CREATE INDEX watch_deliveries_by_event ON watch_deliveries (event);
COMMIT;
