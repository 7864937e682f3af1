-- What the states are made of, where that is not what real sources answered. A row stays for good.
CREATE TABLE origin (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    demo     INTEGER NOT NULL CHECK (demo = 1) -- recorded, synthetic data
) STRICT;
