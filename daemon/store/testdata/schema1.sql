BEGIN TRANSACTION;
CREATE TABLE free_calls (
    key_id TEXT NOT NULL REFERENCES keys (id),
    at     INTEGER NOT NULL,
    calls  INTEGER NOT NULL
) STRICT;
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
INSERT INTO "keys" VALUES('cv_test_tKWQv4Vf',X'194563C167440C6FA474DEE0E43D53AE4C97BB3D511769C22A37EA23F24E25AD','00000000-0000-4000-8000-000000000001','demo','pro','aggregated',1795250252743,NULL,NULL,9997,3);
INSERT INTO "keys" VALUES('cv_test_zUFERckx',X'C4DE1FF3ACAC519C3DDD01476A8D432029A57575D20D8197B2A87D8513F87462','00000000-0000-4000-8000-000000000001','free-agent','free','aggregated',1795250253076,1795250253196,NULL,0,0);
INSERT INTO "keys" VALUES('cv_test_Ven14sqF',X'1834798BF76C3A3DDCD82FF5DCA4C2A3E4FD061D0EFD70A522356B2877A9D70B','00000000-0000-4000-8000-000000000001','pro-agent','pro','aggregated',1795250253088,1795250253170,NULL,395,5);
INSERT INTO "keys" VALUES('cv_test_sDr0eGnv',X'847E2F9B1ED28CA933232E50A803E413A5FD46EE98E972F2775B7EC2AEBEF0CD','00000000-0000-4000-8000-000000000001','gone','free','aggregated',1795250253095,NULL,1795250253128,0,0);
CREATE TABLE ledger (
    id      INTEGER PRIMARY KEY,
    key_id  TEXT NOT NULL REFERENCES keys (id),
    amount  INTEGER NOT NULL, -- credits; negative takes away
    kind    TEXT NOT NULL,    -- grant or adjust
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
INSERT INTO "ledger" VALUES(1,'cv_test_tKWQv4Vf',10000,'grant','demo',1795250252744);
INSERT INTO "ledger" VALUES(2,'cv_test_Ven14sqF',500,'grant','beta tester',1795250253116);
INSERT INTO "ledger" VALUES(3,'cv_test_Ven14sqF',-100,'adjust','too many',1795250253122);
CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    tier       TEXT NOT NULL,
    created_at INTEGER NOT NULL -- Unix milliseconds, as all times here
) STRICT;
INSERT INTO "owners" VALUES('00000000-0000-4000-8000-000000000001','free',1795250252743);
CREATE TABLE schema_migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
INSERT INTO "schema_migrations" VALUES(1,'0001_owners_and_keys.sql',1795250251967);
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
INSERT INTO "usage" VALUES('cv_test_Ven14sqF',498680,'fresh',5,0);
INSERT INTO "usage" VALUES('cv_test_zUFERckx',498680,'search',3,0);
CREATE INDEX keys_by_owner ON keys (owner_id, created_at);
CREATE INDEX ledger_by_key ON ledger (key_id);
CREATE INDEX free_calls_by_key ON free_calls (key_id, at);
CREATE INDEX traces_by_time ON traces (at);
COMMIT;
