-- Answers that were paid for belong to their payers: what is on the chain is known to all.
-- Of those from before this it is not known whether they were handed out, so they may be once more.
ALTER TABLE settlements ADD COLUMN told_at INTEGER; -- when the answer was first handed out
ALTER TABLE paid_calls ADD COLUMN signed BLOB; -- nonce with which the payer has signed the proof
