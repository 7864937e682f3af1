package store

// SettledForText and StandingText are what SettledFor and Payer ask.
const (
	SettledForText = "SELECT " + settlementColumns + " FROM settlements WHERE " + settledFor
	StandingText   = standing
)
