-- Pending settlements are gone on with in the order of their next attempts, and counted for their payers.
ALTER TABLE settlements ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0; -- of a pending one, when its next attempt is due
DROP INDEX settlements_pending;
CREATE INDEX settlements_due ON settlements (rail, next_at) WHERE state = 'pending';
CREATE INDEX settlements_under_way ON settlements (rail, payer) WHERE state = 'pending';

-- The identifiers with which authorizations came first that are to buy a key. A row is there before anybody else has the authorization.
CREATE TABLE first_identifiers (
    rail       TEXT NOT NULL,
    payer      TEXT NOT NULL,
    nonce      BLOB NOT NULL,
    identifier TEXT NOT NULL,    -- '' for none
    until      INTEGER NOT NULL, -- Unix seconds: the authorization ends
    PRIMARY KEY (rail, payer, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX first_identifiers_by_end ON first_identifiers (until);

-- Of the last day, those are counted that transactions of others have settled.
CREATE INDEX settlements_done ON settlements (rail, done_at) WHERE state = 'settled' AND facilitator = '';
