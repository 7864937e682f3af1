-- Answers that were paid for belong to their payers: what is on the chain is known to all.
ALTER TABLE settlements ADD COLUMN told_at BIGINT;
ALTER TABLE paid_calls ADD COLUMN signed BYTEA;
