-- Keys that settlements of packs of credits make. The row is written with that of the settlement, and says all that it takes to finish it,
-- whoever does; the key is there once it is. Until then it holds one of the places that an owner has for keys.
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

CREATE INDEX purchases_by_wallet ON purchases (wallet);
