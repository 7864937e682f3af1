package api

import (
	"fmt"
	"slices"
)

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
	Use             Use    `json:"use"`
	IntervalSeconds int    `json:"intervalSeconds"`
	Unasked         string `json:"unasked,omitempty"` // why it is not asked at all
	Moved           bool   `json:"moved,omitempty"`   // it is asked at an address of the operator's
}

// Permission says whether terms of use allow something.
type Permission string

// The permissions.
const (
	UseYes    Permission = "yes"
	UseNo     Permission = "no"
	UseAsk    Permission = "ask"    // with the agreement of the source alone, or not known
	UseSilent Permission = "silent" // the terms say nothing of it
)

// Permissions are all permissions.
func Permissions() []Permission { return []Permission{UseYes, UseNo, UseAsk, UseSilent} }

// Use is what the terms of a source allow to those who use its data, and ask of them.
type Use struct {
	Commercial   Permission `json:"commercial"`       // use in a business
	Redistribute Permission `json:"redistribute"`     // passing it on, and so selling it
	Store        Permission `json:"store"`            // keeping it for longer than a cache does
	Attribution  string     `json:"attribution"`      // how to name the source
	Notice       string     `json:"notice,omitempty"` // what is to be shown with its data, word for word
	Terms        string     `json:"terms"`            // where they are
	Read         string     `json:"read"`             // the day on which they were read, "" if nobody has
}

// Sellable reports whether data may be sold by who has no licence for it.
func (u Use) Sellable() bool { return u.Redistribute == UseYes || u.Redistribute == UseSilent }

// String says in a line what terms allow, "" where that is not known.
func (u Use) String() string {
	if u == (Use{}) {
		return ""
	}
	line := fmt.Sprintf("in a business: %s, passing on: %s, keeping: %s; name %s", u.Commercial, u.Redistribute, u.Store, u.Attribution)
	if u.Terms != "" {
		line += "; terms of " + u.Read + ": " + u.Terms
	}
	return line
}

// Notices are the notices of uses, each once.
func Notices(uses ...Use) (list []string) {
	for _, u := range uses {
		if u.Notice != "" && !slices.Contains(list, u.Notice) {
			list = append(list, u.Notice)
		}
	}
	return list
}

// Uses are what the terms of the sources of p allow.
func (p PackInfo) Uses() []Use {
	list := make([]Use, len(p.Sources))
	for i, s := range p.Sources {
		list[i] = s.Use
	}
	return list
}
