package build

// Link sets the version as the linker does, until the returned function is called.
func Link(v string) (undo func()) {
	before := version
	version = v
	return func() { version = before }
}
