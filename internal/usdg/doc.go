// Package usdg holds the facts about the token that payers and verifiers share: amounts and their text.
//
// Amounts are integers from end to end; text becomes one without passing through a float. The package speaks to no chain.
package usdg
