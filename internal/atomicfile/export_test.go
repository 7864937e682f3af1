package atomicfile

import "os"

// Watched is f with every flush and rename told to tell, which may make it fail.
func (f File) Watched(tell func(what, path string) error) File {
	f.sync = func(of *os.File) error {
		if err := tell("sync", of.Name()); err != nil {
			return err
		}
		return of.Sync()
	}
	f.rename = func(from, to string) error {
		if err := tell("rename", from); err != nil {
			return err
		}
		return os.Rename(from, to)
	}
	return f
}

// Flush is what writing does before it renames.
func (f File) Flush(of *os.File) error { return f.flush(of) }
