-- What a payer has settled for a request, and how often their settlements have failed of late, is read without the rest of their rows.
CREATE INDEX settlements_by_request ON settlements (rail, payer, fingerprint, done_at) WHERE state = 'settled';
CREATE INDEX settlements_failed ON settlements (rail, payer, done_at) WHERE state = 'failed';
