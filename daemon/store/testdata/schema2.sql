BEGIN TRANSACTION;
CREATE TABLE challenges (
    hash       BLOB PRIMARY KEY,
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    links      TEXT REFERENCES owners (id), -- whom the identity is to be added to, NULL to sign in
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
INSERT INTO "free_calls" VALUES('cv_test_HmqDZpfp',1795249928578,1);
INSERT INTO "free_calls" VALUES('cv_test_HmqDZpfp',1795249928585,1);
INSERT INTO "free_calls" VALUES('cv_test_HmqDZpfp',1795249928591,1);
CREATE TABLE identities (
    kind       TEXT NOT NULL, -- email or wallet
    subject    TEXT NOT NULL, -- the address, as daemon/account writes it
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO "identities" VALUES('email','ada@example.org','baf501df-ccb5-41ee-b63c-851b354b7e6d',1795249928537);
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
) STRICT;
INSERT INTO "keys" VALUES('cv_test_ALY3P9QQ',X'1A45C068B06B93DD4E5D49AB2CC55FF07F14C0D62BDD9C13B8F758359DBC5406','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795249926627,1795249927398,NULL,9999,1);
INSERT INTO "keys" VALUES('cv_test_afdkAq5q',X'5FD30CBD223CB907BF2568052BD8FEEDDC9102157294136B82ECFBE5D3D1A9FA','00000000-0000-4000-8000-000000000001','free-agent','free','aggregated',1795249927407,NULL,NULL,0,0);
INSERT INTO "keys" VALUES('cv_test_y4wNyoOB',X'8D9A6788CC97ADCE3A56B0B4B27E65DCFD6EC05579629137BA2877C722D1173E','00000000-0000-4000-8000-000000000001','pro-agent','pro','aggregated',1795249927418,1795249927510,NULL,395,5);
INSERT INTO "keys" VALUES('cv_test_Q8YEQWnj',X'B17BAD501FBC7A3F47098DFE11C27C4E34233C87C594210ECC57118729F937BD','00000000-0000-4000-8000-000000000001','gone','free','aggregated',1795249927440,NULL,1795249927476,0,0);
INSERT INTO "keys" VALUES('cv_test_HmqDZpfp',X'1F9209DC17C0ED7B3E6819644D3A8B8464A1739B686701F89FDBAF1E58B929EF','baf501df-ccb5-41ee-b63c-851b354b7e6d','ada-agent','free','aggregated',1795249928562,1795249928591,NULL,0,0);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO "ledger" VALUES(1,'cv_test_ALY3P9QQ',10000,'grant','demo',1795249926629);
INSERT INTO "ledger" VALUES(2,'cv_test_y4wNyoOB',500,'grant','beta tester',1795249927455);
INSERT INTO "ledger" VALUES(3,'cv_test_y4wNyoOB',-100,'adjust','too many',1795249927463);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
, disabled_at INTEGER) STRICT;
INSERT INTO "owners" VALUES('00000000-0000-4000-8000-000000000001','free',1795249926627,NULL);
INSERT INTO "owners" VALUES('baf501df-ccb5-41ee-b63c-851b354b7e6d','free',1795249928537,NULL);
CREATE TABLE prompts (
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    pack       TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
CREATE TABLE schema_migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO "schema_migrations" VALUES(1,'0001_owners_and_keys.sql',1795249925190);
INSERT INTO "schema_migrations" VALUES(2,'0002_sign_in.sql',1795249925190);
CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY,
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "sessions" VALUES(X'8E01EA499DD6CF754993217550977C770B3300166B3CF6833A12BD07200A3101','baf501df-ccb5-41ee-b63c-851b354b7e6d',1795249928537,1797841928537);
CREATE TABLE traces (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    op     TEXT NOT NULL,
    pack   TEXT NOT NULL
) STRICT;
CREATE TABLE usage (
    key_id TEXT NOT NULL REFERENCES keys (id),
    hour   INTEGER NOT NULL,
    op     TEXT NOT NULL,
    paid   INTEGER NOT NULL, -- with a credit
    free   INTEGER NOT NULL, -- within the free window
    PRIMARY KEY (key_id, hour, op)
) STRICT, WITHOUT ROWID;
INSERT INTO "usage" VALUES('cv_test_ALY3P9QQ',498680,'search',1,0);
INSERT INTO "usage" VALUES('cv_test_HmqDZpfp',498680,'fresh',0,3);
INSERT INTO "usage" VALUES('cv_test_y4wNyoOB',498680,'fresh',5,0);
CREATE INDEX keys_by_owner ON keys (owner_id, created_at);
CREATE INDEX ledger_by_key ON ledger (key_id);
CREATE INDEX free_calls_by_key ON free_calls (key_id, at);
CREATE INDEX traces_by_time ON traces (at);
CREATE INDEX identities_by_owner ON identities (owner_id, created_at);
CREATE INDEX challenges_by_end ON challenges (expires_at);
CREATE INDEX sessions_by_owner ON sessions (owner_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);
COMMIT;
