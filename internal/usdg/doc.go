// Package usdg holds the facts about the token that whoever pays and whoever verifies share: amounts and how they are written.
//
// Amounts are integers from end to end; text becomes one without passing through a float. The package speaks to no chain.
package usdg
