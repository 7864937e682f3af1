package watch

// What the tests call. Each is its namesake.
var (
	Attempt     = (*Service).attempt
	ParseSecret = parseSecret
	SecretText  = secretText
)
