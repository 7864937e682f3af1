package watch

// What the tests call. Each is its namesake.
var (
	ParseSecret = parseSecret
	SecretText  = secretText
)
