PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795399255212);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795399255212);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795399255212);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795399255212);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795399255212);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795399255212);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795399255212);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795399255212);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795399255212);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795399255212);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795399255212);
INSERT INTO schema_migrations VALUES(12,'0012_charges.sql',1795399255212);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795399258945,NULL);
INSERT INTO owners VALUES('62e827c8-26ea-4b10-9715-db4d95405e6f','free',1795399275303,NULL);
INSERT INTO owners VALUES('1b6996b1-a357-4229-9dfe-eb25f96396f2','free',1795399915510,NULL);
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
INSERT INTO keys VALUES('cv_test_WOrJyp4p',X'a18d5c909edfa3574c1e50d00905144945ae20fe9b7cc240b2a41103ce4c0c8d','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795399258945,1795399274720,NULL,9998,2,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_fJQjNq53',X'ef98ce58b18c1e79f67c174feafeb93c709774cc08185c341a495a1c89c0d628','62e827c8-26ea-4b10-9715-db4d95405e6f','agent','free','aggregated',1795399275318,1795399275372,NULL,1043,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_1N0I1KUx',X'5eceb95382813a302d1018c6eda735a93f26d548d3d0a1246277a7dca77df66a','62e827c8-26ea-4b10-9715-db4d95405e6f','spare','free','aggregated',1795399275345,NULL,1795399275360,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_01qteJev',X'e2c32676c0cb5b8f04672a3db63d73b66e1a43421787eeb0541fada69399619a','1b6996b1-a357-4229-9dfe-eb25f96396f2','x402 starter','free','aggregated',1795399915510,NULL,NULL,1000,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_oAnP9scf',X'78a4c002522faa4527b2f3eebcb14590a61781eb42d4f927f93f205c95e25d19','1b6996b1-a357-4229-9dfe-eb25f96396f2','x402 starter','free','aggregated',1795399917099,NULL,NULL,1000,0,0,NULL,NULL);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_WOrJyp4p',10000,'grant','demo',1795399258947);
INSERT INTO ledger VALUES(2,'cv_test_fJQjNq53',50,'grant','dump',1795399275399);
INSERT INTO ledger VALUES(3,'cv_test_fJQjNq53',-7,'adjust','dump back',1795399275422);
INSERT INTO ledger VALUES(4,'cv_test_01qteJev',1000,'buy','dfefce9e-0dd6-5c93-9621-0c85066c6ac7',1795399915510);
INSERT INTO ledger VALUES(5,'cv_test_fJQjNq53',1000,'buy','2e7c4458-0f8d-4eb7-8a7d-871b35f23eb9',1795399916185);
INSERT INTO ledger VALUES(6,'cv_test_oAnP9scf',1000,'buy','da05e6a3-9152-5be5-a020-5d0a28b363a7',1795399917099);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_WOrJyp4p',498722,'cite',1,0);
INSERT INTO usage VALUES('cv_test_WOrJyp4p',498722,'fresh',1,0);
INSERT INTO usage VALUES('cv_test_fJQjNq53',498722,'cite',0,1);
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
INSERT INTO free_calls VALUES('cv_test_fJQjNq53',1795399275372,1);
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
INSERT INTO identities VALUES('wallet','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905','1b6996b1-a357-4229-9dfe-eb25f96396f2',1795399915510);
INSERT INTO identities VALUES('email','ada@example.org','62e827c8-26ea-4b10-9715-db4d95405e6f',1795399275303);
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
INSERT INTO sessions VALUES(X'b45383834315ec80fdf7ebbde9ba502dc7a1bde42c2f5153aefd73b7afb1ccad','62e827c8-26ea-4b10-9715-db4d95405e6f',1795399275303,1797991275303,1795399275303);
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
INSERT INTO known_clients VALUES(X'a9b0d49b53c82424fe4319eaef7d0bb0f469738c31a64b1f145c1c5c9cd4a2f6',1795399275303);
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
INSERT INTO deposits VALUES('d1abbb7e-3d56-4991-9aca-f6dc90959d57','l2chain','62e827c8-26ea-4b10-9715-db4d95405e6f',NULL,'starter',1000,1000000,X'174415448fce6abac5d5e21a71c1a991c26d119449ce3456619fe6891c4b5681',0,'pending',1795399275925,1795401075000,1,NULL,NULL,NULL,NULL);
INSERT INTO deposits VALUES('2e7c4458-0f8d-4eb7-8a7d-871b35f23eb9','l2chain','62e827c8-26ea-4b10-9715-db4d95405e6f',NULL,'starter',1000,1000001,X'd3a2a2d8ae898b3f6e35d5158fc3606fe075885ef563ba076ee64245a7ed6c24',0,'verified',1795399915451,1795401715000,1,X'dc56e0fb70ed6226b87ef022a002fb5fb37278b1113b1823a9d05c917fe50459','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1795399916185,'cv_test_fJQjNq53');
INSERT INTO deposits VALUES('dfefce9e-0dd6-5c93-9621-0c85066c6ac7','l2chain','1b6996b1-a357-4229-9dfe-eb25f96396f2','cv_test_01qteJev','starter',1000,1000000,X'fbcd6bca21d9446332c25cb2f5f579c3b9b1f693068c9be39109be752b7be312',0,'verified',1795399915353,1795401715000,0,X'b5587b6991734a640335218e64206a460e548c2b8b41f965d567dbeb2b2bbeb7','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1795399915510,'cv_test_01qteJev');
INSERT INTO deposits VALUES('da05e6a3-9152-5be5-a020-5d0a28b363a7','l2chain','1b6996b1-a357-4229-9dfe-eb25f96396f2','cv_test_oAnP9scf','starter',1000,1000000,X'37acc4c21656efd628a8add705a20f639e498d73e9616aad3c77d7112c86ec14',0,'verified',1795399916935,1795401716000,0,X'8a4b838eb5ae9a9689de99d3384820493e76222271933a6defc83a432fbd7248','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1795399917099,'cv_test_oAnP9scf');
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
INSERT INTO transfers VALUES('l2chain',X'0ddf0878297202880127e930d416262b5f6385fa0bfe36d19bf334cddc8ae05e',0,'0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1000,6,X'6a70306209f08f1316dbccaa58e082a207390f5ffe29d2437162287ca9b8b256',1795399919000,'call',NULL,'','no',1795399919290);
INSERT INTO transfers VALUES('l2chain',X'8a4b838eb5ae9a9689de99d3384820493e76222271933a6defc83a432fbd7248',1,'0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1000000,5,X'622e523fb97c9ae314c503563004ec4f9f2d6e2d374a2f423cb794df06dd5944',1795399917000,'deposit','da05e6a3-9152-5be5-a020-5d0a28b363a7','','no',1795399917099);
INSERT INTO transfers VALUES('l2chain',X'b5587b6991734a640335218e64206a460e548c2b8b41f965d567dbeb2b2bbeb7',1,'0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1000000,3,X'213adaf669a5a4a3f8feb4699e739addbe8d7f2663f5bd2fddbbe873f8c98f72',1795399915000,'deposit','dfefce9e-0dd6-5c93-9621-0c85066c6ac7','','no',1795399915510);
INSERT INTO transfers VALUES('l2chain',X'c246983cd424f50b81bc2a4472be88d3629a4bdf8fa3ec6b0eb44850989f7cc4',0,'0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1000,2,X'456ba62013a31a7e2c768b7fe43df61e8a8d8577f76f427edfa8fa82762b0aec',1795399275000,'call',NULL,'','no',1795399275908);
INSERT INTO transfers VALUES('l2chain',X'dc56e0fb70ed6226b87ef022a002fb5fb37278b1113b1823a9d05c917fe50459',0,'0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1000001,4,X'1cedd25540ab8e1f3d122113a3e5402013443cf453cf68fc22e5912e6ab4550f',1795399916000,'deposit','2e7c4458-0f8d-4eb7-8a7d-871b35f23eb9','','no',1795399916185);
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
INSERT INTO paid_calls VALUES('l2chain',X'0ddf0878297202880127e930d416262b5f6385fa0bfe36d19bf334cddc8ae05e',0,'34bed8edb0ad622ec7ecdb527900356e5683183daa3f819e4f5526c340aec924','cite','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1795399919290,X'7b226369746174696f6e223a7b22726566223a332c22736f757263654964223a22636f696e6765636b6f2d676c6f62616c222c2275726c223a2268747470733a2f2f7777772e636f696e6765636b6f2e636f6d2f656e2f676c6f62616c2d636861727473222c22666574636865644174223a22323032362d31312d32335430323a31313a34352e35385a222c2265786365727074223a22546f74616c206d61726b6574206361702024332e3431542c20323468202b322e363225227d2c22736f75726365223a7b226964223a22636f696e6765636b6f2d676c6f62616c222c226e616d65223a22436f696e4765636b6f20476c6f62616c222c227075626c696355726c223a2268747470733a2f2f7777772e636f696e6765636b6f2e636f6d2f656e2f676c6f62616c2d636861727473227d2c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32335430323a31313a34352e3631355a222c226167655365636f6e6473223a31332c22646174614167655365636f6e6473223a31337d7d');
INSERT INTO paid_calls VALUES('l2chain',X'c246983cd424f50b81bc2a4472be88d3629a4bdf8fa3ec6b0eb44850989f7cc4',0,'87e9bf6af4f8558f5255e120c5b17ace7f78fd1e34e61fc34c82394624922ea1','cite','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905',1795399275908,X'7b226369746174696f6e223a7b22726566223a322c22736f757263654964223a22636f696e6765636b6f2d7472656e64696e67222c2275726c223a2268747470733a2f2f7777772e636f696e6765636b6f2e636f6d2f656e2f686967686c69676874732f7472656e64696e672d63727970746f222c22666574636865644174223a22323032362d31312d32335430323a30313a31352e3530355a222c2265786365727074223a225472656e64696e672073656172636865733a204f4e444f2c20485950452c2050454e4755227d2c22736f75726365223a7b226964223a22636f696e6765636b6f2d7472656e64696e67222c226e616d65223a22436f696e4765636b6f205472656e64696e67222c227075626c696355726c223a2268747470733a2f2f7777772e636f696e6765636b6f2e636f6d2f656e2f686967686c69676874732f7472656e64696e672d63727970746f227d2c2266726573686e657373223a7b2267656e6572617465644174223a22323032362d31312d32335430323a30313a31352e3733315a222c226167655365636f6e6473223a302c22646174614167655365636f6e6473223a307d7d');
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',7,1795399919000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'57c875b81685be82258f55307b4ba89680037f0119199992716250e716d2ac7c');
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
INSERT INTO settlements VALUES('l2chain','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'88ad3fbc3a16eb724438b86b53c6b1b42c39c32f765514014f2242430218d424','0x05Fb82099D7bD5DB41dAA6Fb4cE643FcD7bA319f',1000000,0,1795400036,X'f2f57cb4d5d2316208a5f348c0028c3fb2feae29a14b2a5024970a3857716b0925a7e5d5364a74b0f659c098d2fd754099a9fb806a070a0ecf43a29adae33ac31c','ctx_QYL7HOVXZXXL4TKQ66CS3632JR','9db1eb4d4d13bf16384e9835cec5384ffc7ed88e243c49e5b4eb936945438563','','5c24cdaa45755e30ffaa25e194670981464d6a8a1f99f747588dd244ccdf00c4','starter',1000,'cv_test_oAnP9scf','settled','',1795399916935,1795399917099,X'8a4b838eb5ae9a9689de99d3384820493e76222271933a6defc83a432fbd7248',1,'',NULL);
INSERT INTO settlements VALUES('l2chain','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'b7ef1dd6dea1ed9563f3028f6fa120db3ce3ffedec40e23c186fb01cfac935e7','0x05Fb82099D7bD5DB41dAA6Fb4cE643FcD7bA319f',1000000,0,1795400035,X'a3f10cb5c451d5edfa88126d6c0d58c9844b9b7e64816522b47cb7eef11f8acc6bd9fe9e59e84b6d8ea1f03ee4f66d089e4a01ee02f5f65854269f06f2de90c11b','ctx_HV3CKGZ7E7LPZJFSM6FIGAOEQD','b8b9aed7d37049604faa8cc8bd7626d594ed67e3b930d01f3524588592f719f0','','5c24cdaa45755e30ffaa25e194670981464d6a8a1f99f747588dd244ccdf00c4','starter',1000,'cv_test_01qteJev','settled','',1795399915353,1795399915510,X'b5587b6991734a640335218e64206a460e548c2b8b41f965d567dbeb2b2bbeb7',1,'',NULL);
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
INSERT INTO settlement_txs VALUES(1,'l2chain',X'b5587b6991734a640335218e64206a460e548c2b8b41f965d567dbeb2b2bbeb7','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'b7ef1dd6dea1ed9563f3028f6fa120db3ce3ffedec40e23c186fb01cfac935e7','0x5cFeebA2ADa9816532bc903413A1A6B6E8214E24',0,X'02f9018f82b6268001845c7a7a6f8301592a94b2f5d54ade45bf2b3caa127db3e818a5f6140be680b90124e3ee160e000000000000000000000000aeee173991cdc3991dda9c7537d40be7d85e590500000000000000000000000005fb82099d7bd5db41daa6fb4ce643fcd7ba319f00000000000000000000000000000000000000000000000000000000000f42400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b03a163b7ef1dd6dea1ed9563f3028f6fa120db3ce3ffedec40e23c186fb01cfac935e7000000000000000000000000000000000000000000000000000000000000001ba3f10cb5c451d5edfa88126d6c0d58c9844b9b7e64816522b47cb7eef11f8acc6bd9fe9e59e84b6d8ea1f03ee4f66d089e4a01ee02f5f65854269f06f2de90c1c080a0f2d7bc3e776b1e32377cb87590da0703ebcf45dfb0da069c64a2858553360989a04011b204fdcbb6d5b8215dba7639a4e8afd66e8236c46773368260ab55b43a05',2,1795399915353,72763,'49418870700001',0);
INSERT INTO settlement_txs VALUES(2,'l2chain',X'8a4b838eb5ae9a9689de99d3384820493e76222271933a6defc83a432fbd7248','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'88ad3fbc3a16eb724438b86b53c6b1b42c39c32f765514014f2242430218d424','0x5cFeebA2ADa9816532bc903413A1A6B6E8214E24',1,X'02f9018f82b6260101845c7a7a6f8301592a94b2f5d54ade45bf2b3caa127db3e818a5f6140be680b90124e3ee160e000000000000000000000000aeee173991cdc3991dda9c7537d40be7d85e590500000000000000000000000005fb82099d7bd5db41daa6fb4ce643fcd7ba319f00000000000000000000000000000000000000000000000000000000000f42400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b03a16488ad3fbc3a16eb724438b86b53c6b1b42c39c32f765514014f2242430218d424000000000000000000000000000000000000000000000000000000000000001cf2f57cb4d5d2316208a5f348c0028c3fb2feae29a14b2a5024970a3857716b0925a7e5d5364a74b0f659c098d2fd754099a9fb806a070a0ecf43a29adae33ac3c001a07ae27e54a6103d22e669bbc7cc32be81bfa583f99d2b536116d42dbd73f85c95a070d60bbd671069bfaad005e2c4650b41925d3212274dbabe9e35b9efc0d3ad97',2,1795399916935,72763,'37877643128521',0);
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
INSERT INTO purchases VALUES('l2chain','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'88ad3fbc3a16eb724438b86b53c6b1b42c39c32f765514014f2242430218d424','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905','3342a9c4-57d8-4592-964f-8ddb80053553','cv_test_oAnP9scf',X'78a4c002522faa4527b2f3eebcb14590a61781eb42d4f927f93f205c95e25d19');
INSERT INTO purchases VALUES('l2chain','0xaeee173991cdc3991dda9c7537d40be7d85e5905',X'b7ef1dd6dea1ed9563f3028f6fa120db3ce3ffedec40e23c186fb01cfac935e7','0xAeEE173991CdC3991DDA9c7537d40Be7d85E5905','1b6996b1-a357-4229-9dfe-eb25f96396f2','cv_test_01qteJev',X'e2c32676c0cb5b8f04672a3db63d73b66e1a43421787eeb0541fada69399619a');
CREATE TABLE charges (
    id    INTEGER PRIMARY KEY, -- in the order of the batches
    batch TEXT NOT NULL
) STRICT;
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
