PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795758256758);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795758256758);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795758256758);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795758256758);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795758256758);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795758256758);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795758256758);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795758256758);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795758256758);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795758256758);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795758256758);
INSERT INTO schema_migrations VALUES(12,'0012_charges.sql',1795758256758);
INSERT INTO schema_migrations VALUES(13,'0013_settlements_of_a_payer.sql',1795758256758);
INSERT INTO schema_migrations VALUES(14,'0014_charges_in_tables.sql',1795758256758);
INSERT INTO schema_migrations VALUES(15,'0015_attempts.sql',1795758256758);
INSERT INTO schema_migrations VALUES(16,'0016_watches.sql',1795758256758);
INSERT INTO schema_migrations VALUES(17,'0017_told.sql',1795758256758);
INSERT INTO schema_migrations VALUES(18,'0018_daily_credits.sql',1795758256758);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795758257859,NULL);
INSERT INTO owners VALUES('8805bebe-43a9-4864-9c51-95f34c232a19','free',1795758258291,NULL);
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
, unmetered INTEGER NOT NULL DEFAULT 0, revokes_at INTEGER, pruned_at INTEGER, daily_credits INTEGER) STRICT;
INSERT INTO keys VALUES('cv_test_LZBxYpg4',X'f1b0a677d247a466ac49c0c8e4c9772c229fe0936eb03f261e54dff715c87006','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795758257859,1795758286682,NULL,9998,9,0,NULL,NULL,NULL);
INSERT INTO keys VALUES('cv_test_aZhC7WQt',X'47302a28b2147533b4f26b7855e6684d4ac0f59d41dabe29289ccc4393404aec','8805bebe-43a9-4864-9c51-95f34c232a19','mine','free','aggregated',1795758258295,NULL,NULL,999,1,0,NULL,NULL,NULL);
INSERT INTO keys VALUES('cv_test_TcsvDdhk',X'7a9943f238f23908d05b2f5cc4675689c1f7b0469d9bdbc76a6eade0b25a2208','8805bebe-43a9-4864-9c51-95f34c232a19','spare','free','aggregated',1795758259071,1795758259072,1795758259074,0,0,0,NULL,NULL,NULL);
INSERT INTO keys VALUES('cv_test_IX05yvqI',X'c318861607f97db58f05c46bf075890f92f1e3e04e71c12c196fe2f8327564ff','00000000-0000-4000-8000-000000000001','gone','enterprise','aggregated',1795758271496,NULL,NULL,0,0,1,NULL,NULL,NULL);
INSERT INTO keys VALUES('cv_test_G9ETxJAd',X'77f6220cbc14849739e7b6ddac1aa181564772a355f00d38f3a6431bc007a9cf','00000000-0000-4000-8000-000000000001','bounded','pro','aggregated',1795758286535,1795758286661,NULL,19,1,0,NULL,NULL,50);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_LZBxYpg4',10000,'grant','demo',1795758257860);
INSERT INTO ledger VALUES(2,'cv_test_aZhC7WQt',1000,'buy','142d31e9-dcd7-46b7-86d2-4d3a40b986d4',1795758259052);
INSERT INTO ledger VALUES(3,'cv_test_LZBxYpg4',7,'grant','demo',1795758259370);
INSERT INTO ledger VALUES(4,'cv_test_G9ETxJAd',20,'grant','demo',1795758286643);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_G9ETxJAd',498821,'brief',1,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'brief',1,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'cite',1,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'fresh',2,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'search',1,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'snapshot',2,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'subscribe',1,0);
INSERT INTO usage VALUES('cv_test_LZBxYpg4',498821,'watch',1,0);
INSERT INTO usage VALUES('cv_test_TcsvDdhk',498821,'fresh',1,0);
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
INSERT INTO identities VALUES('email','you@example.com','8805bebe-43a9-4864-9c51-95f34c232a19',1795758258291);
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
INSERT INTO sessions VALUES(X'31b68e3210415ecca83f9cd9443aa4457605d6b87839510b9f7f84b05069f58a','8805bebe-43a9-4864-9c51-95f34c232a19',1795758258291,1798350258291,1795758258291);
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
INSERT INTO known_clients VALUES(X'bc5fd2e63f05612f8be8b5fc08087e66725c9b7b26fe5718e74fda310dec427c',1795758258291);
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
INSERT INTO deposits VALUES('142d31e9-dcd7-46b7-86d2-4d3a40b986d4','l2chain','8805bebe-43a9-4864-9c51-95f34c232a19',NULL,'starter',1000,1000000,X'23b762ea32880c6a26d13596616a6485c6053092f17031ac0ea3c9b77611fc69',0,'verified',1795758258299,1795760058000,1,X'43bc96ab7c2df30fa06ff60e9d94845f03978d97129b259f85589851e47edb69','0xB9f301eD94DDD98A62E2525AA690aD0D48AB64BE',1795758259052,'cv_test_aZhC7WQt');
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
INSERT INTO transfers VALUES('l2chain',X'43bc96ab7c2df30fa06ff60e9d94845f03978d97129b259f85589851e47edb69',0,'0xB9f301eD94DDD98A62E2525AA690aD0D48AB64BE',1000000,3,X'2ff12f7e523a1f1f7d2370ea2587dda4af0e3fb70732614e12fce2c158df4403',1795758259000,'deposit','142d31e9-dcd7-46b7-86d2-4d3a40b986d4','','no',1795758259052);
INSERT INTO transfers VALUES('l2chain',X'fc4364517c66e1b229ca0f9d68e13881ea8b2379f2198182482502434326760c',0,'0xB9f301eD94DDD98A62E2525AA690aD0D48AB64BE',2000,2,X'26833fb2c2bc2b995b75d4628bd93006bea113db4b64815d93465270cf84e01f',1795758258000,'call',NULL,'','no',1795758258269);
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
INSERT INTO paid_calls VALUES('l2chain',X'fc4364517c66e1b229ca0f9d68e13881ea8b2379f2198182482502434326760c',0,'87f5d138f12615ae19785fcdd3b414df30de0be2e29f9ec4cb3ee262e6c39da9','search','0xB9f301eD94DDD98A62E2525AA690aD0D48AB64BE',1795758258269,X'7b226d617463686573223a5b7b2270617468223a22746f705f6d6f766572735b305d2e6964222c2276616c7565223a22626974636f696e222c2273636f7265223a317d5d2c22746f74616c223a392c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32375430353a34343a31372e3938325a222c226167655365636f6e6473223a302c22646174614167655365636f6e6473223a307d7d',X'016b0919de93f8f120799b32e878f8d9b10e195be58efe3342b90acc80834987');
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',4,1795758259000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'4f1334893f5d21727bc136fe12bdc505a09fb4cbd93749646bf06edcbfa82a52');
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
INSERT INTO watches VALUES('w_596c4e7568696715dc859b738a8be55e','00000000-0000-4000-8000-000000000001','cv_test_LZBxYpg4','flag.changed','crypto','{"changes":["appeared","rose"],"pack":"crypto","severity":"critical"}','04659fe8685824473c07444c14d499b6',0,'poll','{"type":"poll"}','',X'',X'',0,0,'contextd-demo/cbf00b981ec47deb/crypto',15,1795758286682,1827294286682,1795844686682,0,0,0,0,0,'',0,0,'');
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
INSERT INTO watch_cursors VALUES('crypto','contextd-demo/cbf00b981ec47deb/crypto',15);
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
