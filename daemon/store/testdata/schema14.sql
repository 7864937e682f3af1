PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795647389065);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795647389065);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795647389065);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795647389065);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795647389065);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795647389065);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795647389065);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795647389065);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795647389065);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795647389065);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795647389065);
INSERT INTO schema_migrations VALUES(12,'0012_charges.sql',1795647389065);
INSERT INTO schema_migrations VALUES(13,'0013_settlements_of_a_payer.sql',1795647389065);
INSERT INTO schema_migrations VALUES(14,'0014_charges_in_tables.sql',1795647389065);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795647392347,NULL);
INSERT INTO owners VALUES('6c90f259-a6ca-44f5-b281-4db3903be107','hobby',1795647407249,NULL);
INSERT INTO owners VALUES('09b43156-193f-4a0d-926f-b72365557586','free',1795647408124,NULL);
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
INSERT INTO keys VALUES('cv_test_7PcsQi8I',X'3773bf9d182b1a42d16578a5f673111dd877193b7d04c485ba709abdf9797ae9','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795647392347,1795647406910,NULL,10000,4,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_tzFZBJPC',X'952b0668ba7e60d12914e27b62d57c4aa6de55be1e6263b4ee7dc7e474757844','00000000-0000-4000-8000-000000000001','one','free','aggregated',1795647406936,1795647434700,NULL,477,3,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_Ck7lULFP',X'48c422d089f90f9265bcdf20d672a9328ccbfb65ff8064e2e23df0a4c279b2f5','00000000-0000-4000-8000-000000000001','two','pro','aggregated',1795647406954,NULL,1795647434583,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_6npk6G5v',X'c58341b1c6399bc22f36dcdcb417233a61a3bfeb5519ae5c7636b791f3337499','6c90f259-a6ca-44f5-b281-4db3903be107','my-agent','hobby','aggregated',1795647407267,1795647407279,NULL,10000,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_oq1WmwRE',X'caf713616ee3f937cc75846ec39a619069a9d2e6c2e5038409afc1c638fe6df2','09b43156-193f-4a0d-926f-b72365557586','x402 starter','free','aggregated',1795647408124,NULL,NULL,1000,0,0,NULL,NULL);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_7PcsQi8I',10000,'grant','demo',1795647392350);
INSERT INTO ledger VALUES(2,'cv_test_oq1WmwRE',1000,'buy','48e116f0-cf51-5afa-9110-e45071b50bd1',1795647408124);
INSERT INTO ledger VALUES(3,'cv_test_6npk6G5v',10000,'buy','09b5648c-7a91-4c90-8ac9-cb485e9c4a42',1795647409042);
INSERT INTO ledger VALUES(4,'cv_test_7PcsQi8I',4,'grant','demo',1795647427649);
INSERT INTO ledger VALUES(5,'cv_test_tzFZBJPC',500,'grant','welcome',1795647434605);
INSERT INTO ledger VALUES(6,'cv_test_tzFZBJPC',-20,'adjust','mistake',1795647949540);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_6npk6G5v',498790,'lookup',0,1);
INSERT INTO usage VALUES('cv_test_7PcsQi8I',498790,'brief',1,0);
INSERT INTO usage VALUES('cv_test_7PcsQi8I',498790,'fresh',1,0);
INSERT INTO usage VALUES('cv_test_7PcsQi8I',498790,'search',1,0);
INSERT INTO usage VALUES('cv_test_tzFZBJPC',498790,'fresh',4,0);
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
INSERT INTO free_calls VALUES('cv_test_6npk6G5v',1795647407280,1);
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
INSERT INTO identities VALUES('wallet','0x4C738BADA508240a510B48dd82a731bDfbB3b4F7','09b43156-193f-4a0d-926f-b72365557586',1795647408124);
INSERT INTO identities VALUES('email','you@example.com','6c90f259-a6ca-44f5-b281-4db3903be107',1795647407249);
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
INSERT INTO sessions VALUES(X'4c6a620f58921fa1a73167a434b7d0044ac2a7b6263259e3f535405d81efb773','6c90f259-a6ca-44f5-b281-4db3903be107',1795647407249,1798239407249,1795647407249);
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
INSERT INTO known_clients VALUES(X'bc5fd2e63f05612f8be8b5fc08087e66725c9b7b26fe5718e74fda310dec427c',1795647407249);
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
INSERT INTO deposits VALUES('48e116f0-cf51-5afa-9110-e45071b50bd1','l2chain','09b43156-193f-4a0d-926f-b72365557586','cv_test_oq1WmwRE','starter',1000,1000000,X'8a46d38532e8ca7714018eb4c4dd632b1ecfb3a8e6a9ec317656da9690d27882',0,'verified',1795647407493,1795649207000,0,X'6c6fd5d0feb4fa5186da65179100e6c186a6fb3da2e49b0c87315a28d2e8ac21','0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',1795647408124,'cv_test_oq1WmwRE');
INSERT INTO deposits VALUES('09b5648c-7a91-4c90-8ac9-cb485e9c4a42','l2chain','6c90f259-a6ca-44f5-b281-4db3903be107',NULL,'hobby',10000,8000000,X'270aef7d2f676afb80923c19ddd4f4c6f5c07c8f154238bd363a78be021067ca',0,'verified',1795647408209,1795649208000,1,X'a6a7584da71274cd43033a1add47b73d0396d5497ce8ca5652499c28762c990a','0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',1795647409042,'cv_test_6npk6G5v');
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
INSERT INTO transfers VALUES('l2chain',X'682b9a3a6b3c50bf82341bcdd5b78556d5a6c971d58024954c1a2a8b176b35ef',0,'0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',2000,2,X'cc27787aea73e7cc66dcf1dcbaf05bd84562dbd0169edd14ca5d9ed6909492c9',1795647407000,'call',NULL,'','no',1795647407366);
INSERT INTO transfers VALUES('l2chain',X'6c6fd5d0feb4fa5186da65179100e6c186a6fb3da2e49b0c87315a28d2e8ac21',1,'0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',1000000,3,X'0ff1207d1000cd4bc8cee236049cb3af9aea98f6d5c6bb6ad736d2f1813f313d',1795647408000,'deposit','48e116f0-cf51-5afa-9110-e45071b50bd1','','no',1795647408124);
INSERT INTO transfers VALUES('l2chain',X'a6a7584da71274cd43033a1add47b73d0396d5497ce8ca5652499c28762c990a',0,'0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',8000000,4,X'c9281fdd698ef14349b8e38607543481736a448ea177f35360eb85661719a7d7',1795647409000,'deposit','09b5648c-7a91-4c90-8ac9-cb485e9c4a42','','no',1795647409042);
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
INSERT INTO paid_calls VALUES('l2chain',X'682b9a3a6b3c50bf82341bcdd5b78556d5a6c971d58024954c1a2a8b176b35ef',0,'ea201b33a4a6903fc898c9d27b4748ffef7d6e908730e0f17c2d5d471c661bec','search','0x4C738BADA508240a510B48dd82a731bDfbB3b4F7',1795647407470,X'7b226d617463686573223a5b7b2270617468223a22746f705f6d6f766572735b305d2e6964222c2276616c7565223a22626974636f696e222c2273636f7265223a317d2c7b2270617468223a22746f705f6d6f766572735b305d2e6e616d65222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b395d2e746f70436861696e222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b32315d2e6964222c2276616c7565223a22636861696e3a626974636f696e222c2273636f7265223a317d2c7b2270617468223a2270726f746f636f6c5f74766c5b32315d2e6e616d65222c2276616c7565223a22426974636f696e222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b315d2e7175657374696f6e222c2276616c7565223a2257696c6c20426974636f696e20636c6f73652061626f766520243130302c303030206f6e20446563656d6265722033312c20323032363f222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b315d2e75726c222c2276616c7565223a2268747470733a2f2f706f6c796d61726b65742e636f6d2f6576656e742f73796e7468657469632d77696c6c2d626974636f696e2d636c6f73652d61626f76652d3130303030302d6f6e2d646563656d6265722d33312d32303236222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b325d2e7175657374696f6e222c2276616c7565223a2257696c6c20426974636f696e2072656163682061206e657720616c6c2d74696d65206869676820696e20323032363f222c2273636f7265223a317d2c7b2270617468223a2273656e74696d656e742e70726564696374696f6e735b325d2e75726c222c2276616c7565223a2268747470733a2f2f706f6c796d61726b65742e636f6d2f6576656e742f73796e7468657469632d77696c6c2d626974636f696e2d72656163682d612d6e65772d616c6c2d74696d652d686967682d696e2d32303236222c2273636f7265223a317d5d2c22746f74616c223a392c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32355432323a35363a34352e34355a222c226167655365636f6e6473223a322c22646174614167655365636f6e6473223a327d7d');
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',5,1795647409000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'0ee001b508748416a16ef145006b4ced76c130d0fb304b619252c79ae197b27b');
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
INSERT INTO settlements VALUES('l2chain','0x4c738bada508240a510b48dd82a731bdfbb3b4f7',X'90386b3706e1a3e19132c346ed7d2d2651dc48454621b2bd57c7eb0135e9dea2','0x0f5853C6eC0cAe37cFfC4ef1007e1797F29c4B19',1000000,0,1795647527,X'c876c7806fc02d66b4f5a7547bfb1d8390b5a28f369807139308415c6705e589291f7ccfda6f92bf73b79158025876ede2f880b74784ec859bf835d0ddc617f11b','ctx_DVUMBXV7AZHQFU5UHVWVXYB4HG','10a733586f5326410bff6bc47d37c54687077e654e2343857be714a2a615f8db','','5c24cdaa45755e30ffaa25e194670981464d6a8a1f99f747588dd244ccdf00c4','starter',1000,'cv_test_oq1WmwRE','settled','',1795647407493,1795647408124,X'6c6fd5d0feb4fa5186da65179100e6c186a6fb3da2e49b0c87315a28d2e8ac21',1,'',NULL);
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
INSERT INTO settlement_txs VALUES(1,'l2chain',X'6c6fd5d0feb4fa5186da65179100e6c186a6fb3da2e49b0c87315a28d2e8ac21','0x4c738bada508240a510b48dd82a731bdfbb3b4f7',X'90386b3706e1a3e19132c346ed7d2d2651dc48454621b2bd57c7eb0135e9dea2','0x31d26b605d385b230214d7308dEAC6A809035346',0,X'02f9018f82b6268001845c7a7a6f8301591b9448652f60da3e6a7ff481494a91067a44fa87ac6180b90124e3ee160e0000000000000000000000004c738bada508240a510b48dd82a731bdfbb3b4f70000000000000000000000000f5853c6ec0cae37cffc4ef1007e1797f29c4b1900000000000000000000000000000000000000000000000000000000000f42400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b07682790386b3706e1a3e19132c346ed7d2d2651dc48454621b2bd57c7eb0135e9dea2000000000000000000000000000000000000000000000000000000000000001bc876c7806fc02d66b4f5a7547bfb1d8390b5a28f369807139308415c6705e589291f7ccfda6f92bf73b79158025876ede2f880b74784ec859bf835d0ddc617f1c080a0ff8873ffd20f34768ceed19aac1ee7aa1cf048c2bb2fdf66212faaf31e7f5e8ea06ac508493716194abc314651460a8a1ccad25197b3a23226bc07931fc814cc3f',2,1795647407494,72751,'49410714915499',0);
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
INSERT INTO purchases VALUES('l2chain','0x4c738bada508240a510b48dd82a731bdfbb3b4f7',X'90386b3706e1a3e19132c346ed7d2d2651dc48454621b2bd57c7eb0135e9dea2','0x4C738BADA508240a510B48dd82a731bDfbB3b4F7','09b43156-193f-4a0d-926f-b72365557586','cv_test_oq1WmwRE',X'caf713616ee3f937cc75846ec39a619069a9d2e6c2e5038409afc1c638fe6df2');
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
CREATE INDEX settlements_by_request ON settlements (rail, payer, fingerprint, done_at) WHERE state = 'settled';
CREATE INDEX settlements_failed ON settlements (rail, payer, done_at) WHERE state = 'failed';
COMMIT;
