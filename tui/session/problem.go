package session

// Problem is an error for people: what happened, what to do next, and what to tell the operator.
type Problem struct {
	What      string
	Next      string // empty where there is nothing to do
	RequestID string // empty where the service said nothing
	Word      string // the status that it is, empty for none of its own
}

// String is the problem on one line.
func (p Problem) String() string {
	line := p.What
	if p.Next != "" {
		line += " - " + p.Next
	}
	if p.RequestID != "" {
		line += " (request " + p.RequestID + ")"
	}
	return line
}
