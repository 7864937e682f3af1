package api

// PacksResponse is the list of served packs.
type PacksResponse struct {
	Packs []PackInfo `json:"packs"`
}

// PackInfo describes a pack, independent of its current data.
type PackInfo struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Version     int          `json:"version"` // anchors mean the same source as long as it does not change
	Members     []PackMember `json:"members"` // where rows stand in the state
	Kinds       []string     `json:"kinds"`   // of rows, as lookup and changes take them
	Sources     []PackSource `json:"sources"` // in the order of their anchors
}

// PackMember is a member of a pack's state that holds rows of one kind.
type PackMember struct {
	Name   string   `json:"name"`   // with dots in it where the rows stand deeper, such as sentiment.market
	Kind   string   `json:"kind"`   // of the rows
	Fields []string `json:"fields"` // of the rows, as lookup names them, the most important first; empty where they have none
}

// PackSource is a source of a pack.
type PackSource struct {
	Ref             int    `json:"ref"` // its anchor
	ID              string `json:"id"`
	Name            string `json:"name"`
	URL             string `json:"url"`     // for people
	Licence         string `json:"licence"` // the terms of use of its data, in a few words
	IntervalSeconds int    `json:"intervalSeconds"`
	Unasked         string `json:"unasked,omitempty"` // why it is not asked at all
}
