PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795376190180);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795376190180);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795376190180);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795376190180);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795376190180);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795376190180);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795376190180);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795376190180);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795376190180);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795376190180);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795376190180);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795376199367,NULL);
INSERT INTO owners VALUES('63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a','free',1795376201119,NULL);
INSERT INTO owners VALUES('aaebf94d-5b4e-458a-a778-f5d71a9923a0','free',1795377021462,NULL);
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
INSERT INTO keys VALUES('cv_test_HSI7KYzk',X'b1e8a60024e49d8d79a1f02887cb14c2c9af4ade12f291f90486b4536abf711e','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795376199367,1795376199987,NULL,10000,7,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_6pF2yV5B',X'3bdfef4b384dc63ece53741d4ee14ccf447bc82b2d55983a688f5beae38026ed','63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a','mine','free','aggregated',1795376201125,NULL,NULL,999,1,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_Nz3g2gyu',X'e6661de302d931af3dbccf13d7b202c09df8319b67f4653e2f5d5bb67926206c','63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a','spare','free','aggregated',1795376201285,1795376201286,1795376201288,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_RdMvMKnm',X'c8ce5048bd75791be1009270f7af86176722fe7a8a99aaaf622ffa8ae6da1947','aaebf94d-5b4e-458a-a778-f5d71a9923a0','used','free','aggregated',1795377021500,1795377021772,NULL,42,1,0,NULL,NULL);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_HSI7KYzk',10000,'grant','demo',1795376199367);
INSERT INTO ledger VALUES(2,'cv_test_6pF2yV5B',1000,'buy','11817e27-6c79-41f3-911e-b50eb857ef06',1795376201269);
INSERT INTO ledger VALUES(3,'cv_test_HSI7KYzk',7,'grant','demo',1795376970871);
INSERT INTO ledger VALUES(4,'cv_test_RdMvMKnm',50,'grant','dump',1795377021676);
INSERT INTO ledger VALUES(5,'cv_test_RdMvMKnm',-7,'adjust','dump back',1795377043409);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'brief',1,0);
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'cite',1,0);
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'fresh',1,0);
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'search',1,0);
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'snapshot',2,0);
INSERT INTO usage VALUES('cv_test_HSI7KYzk',498715,'subscribe',1,0);
INSERT INTO usage VALUES('cv_test_Nz3g2gyu',498715,'fresh',1,0);
INSERT INTO usage VALUES('cv_test_RdMvMKnm',498715,'brief',0,1);
INSERT INTO usage VALUES('cv_test_RdMvMKnm',498715,'cite',1,1);
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
INSERT INTO free_calls VALUES('cv_test_RdMvMKnm',1795377021578,1);
INSERT INTO free_calls VALUES('cv_test_RdMvMKnm',1795377021614,1);
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
INSERT INTO identities VALUES('email','you@example.com','63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a',1795376201119);
INSERT INTO identities VALUES('email','dump@example.com','aaebf94d-5b4e-458a-a778-f5d71a9923a0',1795377021462);
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
INSERT INTO sessions VALUES(X'339f6ee9a23f3152e537bc910e30319da3782c88f255f3e8a975db85212965fb','aaebf94d-5b4e-458a-a778-f5d71a9923a0',1795377021462,1797969021462,1795377021462);
INSERT INTO sessions VALUES(X'5d17558fba98309638ee769326e71a51af19933917e180e86f2d2a879313c304','63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a',1795376201119,1797968201119,1795376201119);
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
INSERT INTO known_clients VALUES(X'bc5fd2e63f05612f8be8b5fc08087e66725c9b7b26fe5718e74fda310dec427c',1795376201119);
INSERT INTO known_clients VALUES(X'11c8198c6d40c5115549e1d345d5c406fc8d0d75a2edde7c5a1e0e1f3a5c8036',1795377021462);
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
INSERT INTO deposits VALUES('11817e27-6c79-41f3-911e-b50eb857ef06','l2chain','63e7bbbc-15f7-4c00-a2e9-45f1c5d5504a',NULL,'starter',1000,1000000,X'6e7a55bf113a759b9b1a76078c63238d28416cdc57cc5782f71bb9f78ca6eba7',0,'verified',1795376201131,1795378001000,1,X'164c6ece4120ba870238353392b2d4e38547b012ae6cc77adadc90432e66d6f5','0xF33A3E62098f4a795782880e584804A7fA43244B',1795376201269,'cv_test_6pF2yV5B');
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
INSERT INTO transfers VALUES('l2chain',X'164c6ece4120ba870238353392b2d4e38547b012ae6cc77adadc90432e66d6f5',0,'0xF33A3E62098f4a795782880e584804A7fA43244B',1000000,3,X'7ea4e15b69b0557922b0bf99abd6b60d22937d13ccf49af59950765cd3d6a243',1795376201000,'deposit','11817e27-6c79-41f3-911e-b50eb857ef06','','no',1795376201269);
INSERT INTO transfers VALUES('l2chain',X'6ad9b19bcf2ed2c3c165288c3dc1a804c9d6622f39afe409fb9e23c93ceec652',0,'0xF33A3E62098f4a795782880e584804A7fA43244B',2000,4,X'19727a6ea0cfb32849a11a3cc7f824fd3b036ade9fc60fd9a51e12b507506f61',1795377045000,'call',NULL,'','no',1795377045814);
INSERT INTO transfers VALUES('l2chain',X'f66a7c0ed0dcca14af1dc5fced4671cfa5852a2884a90474478ada170ec1a867',0,'0xF33A3E62098f4a795782880e584804A7fA43244B',2000,2,X'ad4be626d75428375ca73a9b61be3319616e450394f6b16996a44eba247f39d1',1795376200000,'call',NULL,'','no',1795376201096);
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
INSERT INTO paid_calls VALUES('l2chain',X'6ad9b19bcf2ed2c3c165288c3dc1a804c9d6622f39afe409fb9e23c93ceec652',0,'ea201b33a4a6903fc898c9d27b4748ffef7d6e908730e0f17c2d5d471c661bec','search','0xF33A3E62098f4a795782880e584804A7fA43244B',1795377045814,X'7b226d617463686573223a5b7b2270617468223a22746f705f6d6f766572735b305d2e6964222c2276616c7565223a22626974636f696e222c2273636f7265223a317d2c7b2270617468223a22746f705f6d6f766572735b305d2e6e616d65222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b395d2e746f70436861696e222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b32315d2e6964222c2276616c7565223a22636861696e3a626974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b32315d2e6e616d65222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b315d2e7175657374696f6e222c2276616c7565223a2257696c6c20426974636f696e20636c6f73652061626f766520243130302c303030206f6e20446563656d6265722033312c20323032363f222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b315d2e75726c222c2276616c7565223a2268747470733a2f2f706f6c796d61726b65742e636f6d2f6576656e742f73796e7468657469632d77696c6c2d626974636f696e2d636c6f73652d61626f76652d3130303030302d6f6e2d646563656d6265722d33312d32303236222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b325d2e7175657374696f6e222c2276616c7565223a2257696c6c20426974636f696e2072656163682061206e657720616c6c2d74696d65206869676820696e20323032363f222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b325d2e75726c222c2276616c7565223a2268747470733a2f2f706f6c796d61726b65742e636f6d2f6576656e742f73796e7468657469632d77696c6c2d626974636f696e2d72656163682d612d6e65772d616c6c2d74696d652d686967682d696e2d32303236222c2273636f7265223a317d5d2c22746f74616c223a392c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32325431393a33363a34302e3330375a222c226167655365636f6e6473223a3834352c22646174614167655365636f6e6473223a3834357d7d');
INSERT INTO paid_calls VALUES('l2chain',X'f66a7c0ed0dcca14af1dc5fced4671cfa5852a2884a90474478ada170ec1a867',0,'87f5d138f12615ae19785fcdd3b414df30de0be2e29f9ec4cb3ee262e6c39da9','search','0xF33A3E62098f4a795782880e584804A7fA43244B',1795376201096,X'7b226d617463686573223a5b7b2270617468223a22746f705f6d6f766572735b305d2e6964222c2276616c7565223a22626974636f696e222c2273636f7265223a317d5d2c22746f74616c223a392c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32325431393a33363a34302e3330375a222c226167655365636f6e6473223a302c22646174614167655365636f6e6473223a307d7d');
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',5,1795377045000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'b84bb1fbef3b19fc1237b75f5d833fc6ee86c1eb30b6d6fbb09a6c5d769d7450');
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
CREATE INDEX settlements_pending ON settlements (rail, at) WHERE state = 'pending';
CREATE INDEX settlements_kept ON settlements (done_at) WHERE body IS NOT NULL;
CREATE INDEX settlement_txs_by_settlement ON settlement_txs (rail, payer, nonce);
CREATE INDEX settlement_txs_by_sender ON settlement_txs (rail, sender, account_nonce);
CREATE INDEX purchases_by_wallet ON purchases (wallet);
COMMIT;
