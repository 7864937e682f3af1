-- Transfers that have paid for a deposit whose block is not safe yet: spent_on says waiting then, and deposit_id which. And those that were
-- spent, and have vanished from the chain. log_index is the place among the logs of the transaction.
CREATE INDEX transfers_waiting ON transfers (deposit_id) WHERE spent_on = 'waiting';
CREATE INDEX transfers_vanished ON transfers (at) WHERE settled = 'vanished';
