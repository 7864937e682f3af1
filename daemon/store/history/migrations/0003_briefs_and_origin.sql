-- A brief that was written with its state, and not the daily one. Of those of a day the last is kept.
ALTER TABLE briefs ADD COLUMN with_state INTEGER NOT NULL DEFAULT 0;

-- What the states are made of, where that is not what real sources answered. A row stays for good.
CREATE TABLE origin (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    demo     INTEGER NOT NULL CHECK (demo = 1) -- recorded, synthetic data
) STRICT;
