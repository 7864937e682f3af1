package build

// Link sets version, commit and date as the linker does, until the returned function is called.
func Link(v, c, d string) (undo func()) {
	wasVersion, wasCommit, wasDate := version, commit, date
	version, commit, date = v, c, d
	return func() { version, commit, date = wasVersion, wasCommit, wasDate }
}
