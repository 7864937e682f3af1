package datadir

import (
	"os"
	"path/filepath"
	"time"
)

// Names of the directories of a replacement.
const (
	CommittedSuffix = committedSuffix
	AppliedSuffix   = appliedSuffix
)

// Interrupted does the first n steps of a replacement that is committed, and reports whether there are as many.
func Interrupted(dir, stamp string, n int) (bool, error) {
	if err := os.Rename(filepath.Join(dir, incomingDir), filepath.Join(dir, replacePrefix+stamp+committedSuffix)); err != nil {
		return false, err
	}
	steps := flusher(flush).replacement(dir, stamp)
	for _, step := range steps[:min(n, len(steps))] {
		if err := step(); err != nil {
			return false, err
		}
	}
	return n <= len(steps), nil
}

// ReplaceWatched is Replace with every flush told to tell, which may make it fail, instead of done.
func ReplaceWatched(dir string, now time.Time, tell func(path string) error) (kept string, err error) {
	return flusher(tell).replace(dir, now)
}

// Flush is flush.
func Flush(path string) error { return flush(path) }

// FD is the descriptor of the lock, as a program that is being started inherits it.
func (h *Held) FD() int { return int(h.file.Fd()) }
