PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_owners_and_keys.sql',1795206550690);
INSERT INTO schema_migrations VALUES(2,'0002_sign_in.sql',1795206550690);
INSERT INTO schema_migrations VALUES(3,'0003_payments.sql',1795206550690);
INSERT INTO schema_migrations VALUES(4,'0004_deposits.sql',1795206550690);
INSERT INTO schema_migrations VALUES(5,'0005_chain.sql',1795206550690);
INSERT INTO schema_migrations VALUES(6,'0006_briefs.sql',1795206550690);
INSERT INTO schema_migrations VALUES(7,'0007_finality.sql',1795206550690);
INSERT INTO schema_migrations VALUES(8,'0008_keys_doors_and_sales.sql',1795206550690);
INSERT INTO schema_migrations VALUES(9,'0009_settlements.sql',1795206550690);
INSERT INTO schema_migrations VALUES(10,'0010_rails.sql',1795206550690);
INSERT INTO schema_migrations VALUES(11,'0011_purchases.sql',1795206550690);
INSERT INTO schema_migrations VALUES(12,'0012_charges.sql',1795206550690);
INSERT INTO schema_migrations VALUES(13,'0013_settlements_of_a_payer.sql',1795206550690);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO owners VALUES('00000000-0000-4000-8000-000000000001','free',1795465751027,NULL);
INSERT INTO owners VALUES('11120bdf-1e89-4b5f-bf66-e9940f18e76b','pro',1795465751084,NULL);
INSERT INTO owners VALUES('7339b23c-6f04-46c8-a121-f0fb7768f87b','free',1795465751096,NULL);
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
INSERT INTO keys VALUES('cv_test_tzJRyYAj',X'628c8c88d1914fda3c7f5be780d1b27a7c4f5b6c8a248463ed2a763a197db374','00000000-0000-4000-8000-000000000001','test','free','aggregated',1795465751027,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_1NuQA3pi',X'27c4e539d047e2cb024de359c30e5f7c5d65da86a6a95ec48a716c39ac6e490d','11120bdf-1e89-4b5f-bf66-e9940f18e76b','key 1','pro','aggregated',1795465751089,NULL,NULL,989,11,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_3aEeI1l8',X'067c0b1b941d2734ab7434862f7c3842f42a2227f6a3465e7c35b47c264fa11b','11120bdf-1e89-4b5f-bf66-e9940f18e76b','key 2','pro','full',1795465751090,NULL,NULL,250,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_8GS4cHsV',X'131cf54fd2d1c5bc31ad6a4cd449c12f486e0f3556a6dd81a63f1a31113e23b6','11120bdf-1e89-4b5f-bf66-e9940f18e76b','key 3','pro','aggregated',1795465751091,NULL,1795465751122,38,2,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_Me2XlbqP',X'2f654170534775af516fd011c4f005688e838d4d463c09fa888d42e03901ddc8','00000000-0000-4000-8000-000000000001','test','free','aggregated',1795465751092,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_5QzEnx50',X'd05e27d4730a9f00df4ade884b81ef5b780f343ddc65f2f5ad6f477fc09e6013','7339b23c-6f04-46c8-a121-f0fb7768f87b','key 1','free','aggregated',1795465751097,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_8jwC43F9',X'efcd4a1353346704c8dd462c4fe3f16ccb9c79cfe22e0b64cf725c55e677eb1a','00000000-0000-4000-8000-000000000001','test','team','aggregated',1795465751098,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO keys VALUES('cv_test_OT8ykS7a',X'81013750bce9642e5a1ebab442be68b4b1b803d79d808cb0dc4f0b14e747870a','00000000-0000-4000-8000-000000000001','test','free','aggregated',1795465751974,NULL,NULL,0,0,0,NULL,NULL);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'cv_test_1NuQA3pi',1000,'buy','4cf964a5-5dd9-4fd7-ad5f-7e2313bd22e4',1795465751105);
INSERT INTO ledger VALUES(2,'cv_test_3aEeI1l8',250,'grant','test',1795465751107);
INSERT INTO ledger VALUES(3,'cv_test_8GS4cHsV',40,'grant','test',1795465751107);
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO usage VALUES('cv_test_1NuQA3pi',498740,'fresh',11,0);
INSERT INTO usage VALUES('cv_test_8GS4cHsV',498740,'brief',2,0);
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
INSERT INTO identities VALUES('email','ada@example.org','11120bdf-1e89-4b5f-bf66-e9940f18e76b',1795465751084);
INSERT INTO identities VALUES('email','bob@example.org','7339b23c-6f04-46c8-a121-f0fb7768f87b',1795465751096);
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
INSERT INTO sessions VALUES(X'90da0d1d05e5a0a9995f0ffee2eac2a4aa578061e4f179d621c53b28c7158e25','7339b23c-6f04-46c8-a121-f0fb7768f87b',1795465751096,1798057751096,1795465751096);
INSERT INTO sessions VALUES(X'c1d6001546488a0ff8924d13f3ee2e1f58aaaf478e44c76544fca60922788a74','11120bdf-1e89-4b5f-bf66-e9940f18e76b',1795465751084,1798057751084,1795465751084);
CREATE TABLE prompts (
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    pack       TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
INSERT INTO prompts VALUES('11120bdf-1e89-4b5f-bf66-e9940f18e76b','crypto','what matters to somebody who holds ether',1795465751108);
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
INSERT INTO known_clients VALUES(X'a9b0d49b53c82424fe4319eaef7d0bb0f469738c31a64b1f145c1c5c9cd4a2f6',1795465751084);
INSERT INTO known_clients VALUES(X'4b16700be3bf2158400a8b52b30721492cd84651013e4839deda74d8e89ef149',1795465751096);
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
INSERT INTO deposits VALUES('4cf964a5-5dd9-4fd7-ad5f-7e2313bd22e4','l2chain','11120bdf-1e89-4b5f-bf66-e9940f18e76b','cv_test_1NuQA3pi','starter',1000,1000000,X'9e3ef93c673e89e2e7bf3e620f866afc1402c7f652351641b1b3a8f5f7fbba98',0,'verified',1795465751098,1795467551000,1,X'dd4668df4f02f92ad5fc9d0cdbab6f938617d065507d3b65f726ebef9c4fa066','0xbFE8F560224FAC3520960A66811D2d87Cf8f4Aae',1795465751105,'cv_test_1NuQA3pi');
INSERT INTO deposits VALUES('3e446ebe-2969-45bb-83c2-12da47941c18','l2chain','11120bdf-1e89-4b5f-bf66-e9940f18e76b',NULL,'hobby',10000,8000000,X'8ef473bf74f76e8f872dd3322019153417f4c7afe463cbbe501f45366952fa4b',0,'pending',1795465751123,1795467551000,1,NULL,NULL,NULL,NULL);
INSERT INTO deposits VALUES('c90fdc96-224d-49a2-b365-1a81371e815b','l2chain','11120bdf-1e89-4b5f-bf66-e9940f18e76b',NULL,'starter',1000,1000001,X'2d2f142de4792e45488f220d65c2cef875a9dd0ebc396753e0ea3c6ca1d35492',0,'pending',1795465751124,1795467551000,1,NULL,NULL,NULL,NULL);
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
INSERT INTO transfers VALUES('l2chain',X'715808da8114ba133fc8e1e002e5a79390e4a6d1f8b2e598c9501b6b67d8c138',1,'0xbFE8F560224FAC3520960A66811D2d87Cf8f4Aae',1000,5,X'1c82af8811acb15538de7415f5c70c93a37cdb57bf46d892fa307d9b2d5e3bce',1795465754000,'call',NULL,'','no',1795465751350);
INSERT INTO transfers VALUES('l2chain',X'b1c0b8d56f1bfad78e646d3b3f94c43e4ee137536ba57d3c49299073c95c7b77',0,'0xbFE8F560224FAC3520960A66811D2d87Cf8f4Aae',1000,3,X'a084504d3b7d0c0e375898d8c2216df0f60c4faedda2534aec08278417ad075a',1795465752000,'call',NULL,'','no',1795465751183);
INSERT INTO transfers VALUES('l2chain',X'dd4668df4f02f92ad5fc9d0cdbab6f938617d065507d3b65f726ebef9c4fa066',0,'0xbFE8F560224FAC3520960A66811D2d87Cf8f4Aae',1000000,2,X'6ea306708fe24a9b20982c9c979d4421a19e71c71db563a8ac16656984860d31',1795465751000,'deposit','4cf964a5-5dd9-4fd7-ad5f-7e2313bd22e4','','no',1795465751105);
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
INSERT INTO paid_calls VALUES('l2chain',X'b1c0b8d56f1bfad78e646d3b3f94c43e4ee137536ba57d3c49299073c95c7b77',0,'9df33f96488b4ed9fa83314eba3e5f4b30efe0cd6c62837b9704656ede55a766','fresh','0xbFE8F560224FAC3520960A66811D2d87Cf8f4Aae',1795465751183,X'7b7d');
CREATE TABLE scan (
    rail    TEXT PRIMARY KEY,
    next    INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO scan VALUES('l2chain',3,1795465751000);
CREATE TABLE chain (
    rail    TEXT PRIMARY KEY,
    genesis BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chain VALUES('l2chain',X'ae0f8b724e1f8bd507fcfb9efd1fc9039526c4e7c8f9b1e939a27aa7bacb3b89');
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
INSERT INTO settlements VALUES('l2chain','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'70f7a63f81ef29acc42befa878f6dfa7a4e37ec1cbcf394e5a763a2e798f4f18','0x60712b03c0fc6EC60D5f49880D3E503A05700436',1000,0,1795466651,X'4b9906814ef0a5fc14d33cfee70ae173662620bb55f8c7c1e1bcf4b5749a5ce17483304ef2fdd2c2a397b15d70a3a8c0558941d00ce9c41ac2e75aea08bc76cd1c','','eab12ea25d851d01e235a1732d9601bd6034fa1bf44c27829d762af261b52d3e','fresh','9df33f96488b4ed9fa83314eba3e5f4b30efe0cd6c62837b9704656ede55a766','',0,NULL,'pending','',1795465751666,NULL,NULL,NULL,'',X'7b7d');
INSERT INTO settlements VALUES('l2chain','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'90febf64e5e4c7be4830419231d259bc5e66ee7520baea14df17ca03e44a0066','0x60712b03c0fc6EC60D5f49880D3E503A05700436',1000,0,1795466651,X'3c3aea32db4f6274eb6416529ba57e216dd4bd92f5c1aa278825324ec1300c133b72ef4484ff5da3fdac1b75bbae68c1433c5e9d4764e2bb1ddc88a41d23191b1c','','7dcbed18f056c55c91eff4e8089edb7b44359b70cb888e3c40179cf29ba1decb','fresh','9df33f96488b4ed9fa83314eba3e5f4b30efe0cd6c62837b9704656ede55a766','',0,NULL,'settled','',1795465751195,1795465751350,X'715808da8114ba133fc8e1e002e5a79390e4a6d1f8b2e598c9501b6b67d8c138',1,'',X'7b7d');
INSERT INTO settlements VALUES('l2chain','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'bdd488e91da3fd905e18498a3c0f2c084b3dbc2db3d6b7922f48bf78967316c1','0x60712b03c0fc6EC60D5f49880D3E503A05700436',1000,0,1795465841,X'074fe44c36a217b737782933c6dfa30a7ac1151616e32cfb7b1f3d2148b8bca55fc42026ad0a64d6651dadb244aa59fe3e200a3b61d9d61a9c2ae3db64267d7e1c','','46e26c089fd286b0eb4e26bed54eb04786a9eee51657659ab3f232be6dd7a35a','fresh','9df33f96488b4ed9fa83314eba3e5f4b30efe0cd6c62837b9704656ede55a766','',0,NULL,'pending','',1795465751360,NULL,NULL,NULL,'',X'7b7d');
INSERT INTO settlements VALUES('l2chain','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'e928c65a6cb585b45d99578c633909b23692061e7c652ac91b0be24840cb2f9f','0x60712b03c0fc6EC60D5f49880D3E503A05700436',1000,0,1795466652,X'2b7e4af38435b625df060b41e795a48f2550f508076dd0ceef6b2f651f9115194a3b1b7e85c4ed8783de1d1e1b6c70d3c14829fc1c9386d9b1a7194a37eef6e71b','','3b45447261211461ccdbc01b9ab4506ff8d1a23e2775ed5f59c9780dffd4b92e','fresh','9df33f96488b4ed9fa83314eba3e5f4b30efe0cd6c62837b9704656ede55a766','',0,NULL,'pending','',1795465752088,NULL,NULL,NULL,'',X'7b7d');
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
INSERT INTO settlement_txs VALUES(1,'l2chain',X'715808da8114ba133fc8e1e002e5a79390e4a6d1f8b2e598c9501b6b67d8c138','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'90febf64e5e4c7be4830419231d259bc5e66ee7520baea14df17ca03e44a0066','0xcF256dc1d063498ce84cEA1c0D94A3d5d7981F40',0,X'02f9018f82b626800184684ee1818301590d94e8be73e504e39e89819fb758ff45874953c649e380b90124e3ee160e000000000000000000000000bfe8f560224fac3520960a66811d2d87cf8f4aae00000000000000000000000060712b03c0fc6ec60d5f49880d3e503a0570043600000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b04a59b90febf64e5e4c7be4830419231d259bc5e66ee7520baea14df17ca03e44a0066000000000000000000000000000000000000000000000000000000000000001c3c3aea32db4f6274eb6416529ba57e216dd4bd92f5c1aa278825324ec1300c133b72ef4484ff5da3fdac1b75bbae68c1433c5e9d4764e2bb1ddc88a41d23191bc080a01f071820420b294cb2374c4f2a2f70609bb5d965f0c634b87a08af17279bf5d6a0503a6c7e6cee628fef041690ec73dbc0a350a9fe0e5d74f5feb63196d6a85540',1,1795465751196,72739,'37853830000533',0);
INSERT INTO settlement_txs VALUES(2,'l2chain',X'1490e852806b4d0964716e3946c9b56a9692dfd3bf36d62cd2dbe2414d9f8cce','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'bdd488e91da3fd905e18498a3c0f2c084b3dbc2db3d6b7922f48bf78967316c1','0xcF256dc1d063498ce84cEA1c0D94A3d5d7981F40',1,X'02f9018f82b626010184684ee1818301591b94e8be73e504e39e89819fb758ff45874953c649e380b90124e3ee160e000000000000000000000000bfe8f560224fac3520960a66811d2d87cf8f4aae00000000000000000000000060712b03c0fc6ec60d5f49880d3e503a0570043600000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b04a271bdd488e91da3fd905e18498a3c0f2c084b3dbc2db3d6b7922f48bf78967316c1000000000000000000000000000000000000000000000000000000000000001c074fe44c36a217b737782933c6dfa30a7ac1151616e32cfb7b1f3d2148b8bca55fc42026ad0a64d6651dadb244aa59fe3e200a3b61d9d61a9c2ae3db64267d7ec080a09e81e37d2e221f78da7b206e07dfd7ec1677e11dbca00d1067069d9aac3dcc42a064e4fc2d000a7ad4894e061301836346703f267d40cc2d48b16101009f345c8e',1,1795465751360,NULL,NULL,0);
INSERT INTO settlement_txs VALUES(3,'l2chain',X'8a4b7a81462fc036f7bf025f2fd0544363f18934be25335579f841d0452dffc7','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'70f7a63f81ef29acc42befa878f6dfa7a4e37ec1cbcf394e5a763a2e798f4f18','0xcF256dc1d063498ce84cEA1c0D94A3d5d7981F40',2,X'02f9018f82b626020184684ee1818301591b94e8be73e504e39e89819fb758ff45874953c649e380b90124e3ee160e000000000000000000000000bfe8f560224fac3520960a66811d2d87cf8f4aae00000000000000000000000060712b03c0fc6ec60d5f49880d3e503a0570043600000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b04a59b70f7a63f81ef29acc42befa878f6dfa7a4e37ec1cbcf394e5a763a2e798f4f18000000000000000000000000000000000000000000000000000000000000001c4b9906814ef0a5fc14d33cfee70ae173662620bb55f8c7c1e1bcf4b5749a5ce17483304ef2fdd2c2a397b15d70a3a8c0558941d00ce9c41ac2e75aea08bc76cdc001a0561bb5bbdf453eae9e52ba44757d277d6b5d2eb3802713239482ac373162ae24a06f4f7f38f437410d5af26a3daa951997e97cf6e90751356e5107dcd589a412cb',1,1795465751667,NULL,NULL,0);
INSERT INTO settlement_txs VALUES(4,'l2chain',X'611ffc830318f1ed34bbd71afbd80fb235c0af27e301f3a36694f96116a138e9','0xbfe8f560224fac3520960a66811d2d87cf8f4aae',X'e928c65a6cb585b45d99578c633909b23692061e7c652ac91b0be24840cb2f9f','0xcF256dc1d063498ce84cEA1c0D94A3d5d7981F40',3,X'02f9018f82b626030184684ee1818301591b94e8be73e504e39e89819fb758ff45874953c649e380b90124e3ee160e000000000000000000000000bfe8f560224fac3520960a66811d2d87cf8f4aae00000000000000000000000060712b03c0fc6ec60d5f49880d3e503a0570043600000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b04a59ce928c65a6cb585b45d99578c633909b23692061e7c652ac91b0be24840cb2f9f000000000000000000000000000000000000000000000000000000000000001b2b7e4af38435b625df060b41e795a48f2550f508076dd0ceef6b2f651f9115194a3b1b7e85c4ed8783de1d1e1b6c70d3c14829fc1c9386d9b1a7194a37eef6e7c080a03b36262ac30335739c4cf8b701bb7e0f7ddd08c89c4fb7641e7ad442797b88a8a06dd64dd3489d90e362508b4a0092394e46d2ab0f3c2e3a5e26feee35e27f2693',1,1795465752088,NULL,NULL,0);
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
CREATE TABLE charges (
    id    INTEGER PRIMARY KEY, -- in the order of the batches
    batch TEXT NOT NULL
) STRICT;
INSERT INTO charges VALUES(1,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(2,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(3,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(4,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(5,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(6,'{"debits":{"cv_test_8GS4cHsV":1},"usage":[{"k":"cv_test_8GS4cHsV","h":498740,"o":"brief","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(7,'{"debits":{"cv_test_8GS4cHsV":1},"usage":[{"k":"cv_test_8GS4cHsV","h":498740,"o":"brief","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(8,'[7,["cv_test_8GS4cHsV"],["cv_test_8GS4cHsV"]]');
INSERT INTO charges VALUES(9,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465751981,"n":1}],"traces":[]}');
INSERT INTO charges VALUES(10,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465751984,"n":1}],"traces":[]}');
INSERT INTO charges VALUES(11,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465751988,"n":1}],"traces":[]}');
INSERT INTO charges VALUES(12,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465751991,"n":1}],"traces":[]}');
INSERT INTO charges VALUES(13,'[12,["cv_test_1NuQA3pi"],["cv_test_1NuQA3pi"]]');
INSERT INTO charges VALUES(14,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(15,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(16,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(17,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(18,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(19,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(20,'[19,["cv_test_1NuQA3pi"],["cv_test_1NuQA3pi"]]');
INSERT INTO charges VALUES(21,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"brief","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(22,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"brief","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(23,'{"debits":{"cv_test_1NuQA3pi":1},"usage":[{"k":"cv_test_1NuQA3pi","h":498740,"o":"brief","p":1,"f":0}],"free":[],"traces":[]}');
INSERT INTO charges VALUES(24,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752050,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(25,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752052,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(26,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752053,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(27,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752056,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(28,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752060,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(29,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752062,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(30,'{"debits":{"cv_test_3aEeI1l8":1},"usage":[{"k":"cv_test_3aEeI1l8","h":498740,"o":"fresh","p":1,"f":0}],"free":[],"traces":[{"k":"cv_test_3aEeI1l8","at":1795465752068,"o":"fresh","pack":"crypto"}]}');
INSERT INTO charges VALUES(31,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465752070,"n":1}],"traces":[]}');
INSERT INTO charges VALUES(32,'{"debits":{},"usage":[{"k":"cv_test_5QzEnx50","h":498740,"o":"fresh","p":0,"f":1}],"free":[{"k":"cv_test_5QzEnx50","at":1795465752076,"n":1}],"traces":[]}');
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
