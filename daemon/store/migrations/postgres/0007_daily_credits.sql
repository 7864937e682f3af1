-- A key may have a bound of the credits that it spends in a day.
ALTER TABLE keys ADD COLUMN daily_credits BIGINT; -- NULL means none
