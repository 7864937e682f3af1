package history

// KeyframeEvery is the length of a block.
const KeyframeEvery = keyframeEvery

// Apart and Together move the numbers of a content behind its text and back.
func Apart(content []byte) []byte           { return apart(content) }
func Together(moved []byte) ([]byte, error) { return together(moved) }
