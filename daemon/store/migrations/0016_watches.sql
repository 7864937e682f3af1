-- Conditions of owners, and where their events go. A time of 0 is none.
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
CREATE INDEX watches_by_owner ON watches (owner_id, created_at);
CREATE INDEX watches_by_rule ON watches (rule);
CREATE INDEX watches_by_payment ON watches (paid_until);

-- What is delivered, by the id of the event or message. It is the same text to everybody.
CREATE TABLE watch_events (
    id   TEXT PRIMARY KEY,
    rule TEXT NOT NULL, -- or the id of a watch, for what is told to that alone
    at   INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX watch_events_by_time ON watch_events (at);
CREATE INDEX watch_events_by_rule ON watch_events (rule, at);

-- What is still to be delivered.
CREATE TABLE watch_deliveries (
    watch    TEXT NOT NULL REFERENCES watches (id),
    event    TEXT NOT NULL REFERENCES watch_events (id),
    cursor   TEXT NOT NULL, -- before the event
    next_at  INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (watch, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_deliveries_by_time ON watch_deliveries (next_at);
CREATE INDEX watch_deliveries_by_event ON watch_deliveries (event);

-- Up to which leaf of a pack's log conditions were looked at.
CREATE TABLE watch_cursors (
    pack TEXT PRIMARY KEY,
    log  TEXT NOT NULL,
    seq  INTEGER NOT NULL
) STRICT;
