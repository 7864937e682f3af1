package watch

// What the tests call. Each is its namesake.
var (
	Sign        = sign
	ParseSecret = parseSecret
	SecretText  = secretText
)
