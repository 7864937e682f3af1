package store

import "context"

// Synchronous is the durability level of the writing connection of each database.
func (s *Store) Synchronous(ctx context.Context) [2]int {
	var levels [2]int
	for i, f := range []*file{s.main, s.history} {
		if err := f.write.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&levels[i]); err != nil {
			levels[i] = -1
		}
	}
	return levels
}

// KeyframeEvery is the length of a block.
const KeyframeEvery = keyframeEvery

// Apart and Together move the numbers of a content behind its text and back.
func Apart(content []byte) []byte           { return apart(content) }
func Together(moved []byte) ([]byte, error) { return together(moved) }
