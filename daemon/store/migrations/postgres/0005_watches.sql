-- Conditions of owners, and where their events go. A time of 0 is none.
CREATE TABLE watches (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner_id TEXT COLLATE "C" NOT NULL REFERENCES owners (id),
    key_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    pack TEXT COLLATE "C" NOT NULL,
    arguments TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    expires BIGINT NOT NULL,
    delivery TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    host TEXT COLLATE "C" NOT NULL,
    secret BYTEA NOT NULL,
    secret_before BYTEA NOT NULL,
    sealed BIGINT NOT NULL,
    before_until BIGINT NOT NULL DEFAULT 0,
    log TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    paid_until BIGINT NOT NULL,
    paused_at BIGINT NOT NULL DEFAULT 0,
    suspended_at BIGINT NOT NULL DEFAULT 0,
    ended_at BIGINT NOT NULL DEFAULT 0,
    low_since BIGINT NOT NULL DEFAULT 0,
    last_at BIGINT NOT NULL DEFAULT 0,
    last_error TEXT COLLATE "C" NOT NULL DEFAULT '',
    failed_since BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,
    gap TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX watches_by_owner ON watches (owner_id, created_at);
CREATE INDEX watches_by_rule ON watches (rule);
CREATE INDEX watches_by_payment ON watches (paid_until);

-- What is delivered, by the id of the event or message. It is the same text to everybody.
CREATE TABLE watch_events (
    id TEXT COLLATE "C" PRIMARY KEY,
    rule TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    body BYTEA NOT NULL
);
CREATE INDEX watch_events_by_time ON watch_events (at);
CREATE INDEX watch_events_by_rule ON watch_events (rule, at);

-- What is still to be delivered.
CREATE TABLE watch_deliveries (
    watch TEXT COLLATE "C" NOT NULL REFERENCES watches (id),
    event TEXT COLLATE "C" NOT NULL REFERENCES watch_events (id),
    cursor TEXT COLLATE "C" NOT NULL,
    next_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (watch, event)
);
CREATE INDEX watch_deliveries_by_time ON watch_deliveries (next_at);
CREATE INDEX watch_deliveries_by_event ON watch_deliveries (event);

-- Up to which leaf of a pack's log conditions were looked at.
CREATE TABLE watch_cursors (
    pack TEXT COLLATE "C" PRIMARY KEY,
    log TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL
);
