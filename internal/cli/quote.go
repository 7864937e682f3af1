package cli

import "strings"

// Quoted is an argument as a shell takes it, for hints with commands.
func Quoted(arg string) string {
	if !strings.ContainsAny(arg, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
