package store

// SettledForText and FailedText are what SettledFor and FailedSettlements ask.
const (
	SettledForText = "SELECT " + settlementColumns + " FROM settlements WHERE " + settledFor
	FailedText     = "SELECT count(*) FROM settlements WHERE " + failedOf
)
