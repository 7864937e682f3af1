package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Paths of watches: the list, one of them, its events, and a test of its delivery.
const (
	PathWatches     = "/v1/watches"
	PathWatch       = PathWatches + "/{watchId}"
	PathWatchEvents = PathWatch + "/events"
	PathWatchTest   = PathWatch + "/test"
)

// WatchType is what a watch waits for.
type WatchType string

// The types of watches.
const (
	WatchStatePublished WatchType = "state.published"
	WatchFlagChanged    WatchType = "flag.changed"
	WatchConditionMet   WatchType = "condition.met"
	WatchChangeMoved    WatchType = "change.moved"
	WatchBriefPublished WatchType = "brief.published"
	WatchCreditsLow     WatchType = "credits.low"
)

// WatchTypes returns every type, sorted by name.
func WatchTypes() []WatchType {
	return []WatchType{WatchBriefPublished, WatchChangeMoved, WatchConditionMet, WatchCreditsLow, WatchFlagChanged, WatchStatePublished}
}

// Describe says when a watch of t is told something, in a line.
func (t WatchType) Describe() string {
	switch t {
	case WatchStatePublished:
		return "A state with new content was logged."
	case WatchFlagChanged:
		return "A flag appeared, rose or ended."
	case WatchConditionMet:
		return "A number of a row met a bound that it did not meet before."
	case WatchChangeMoved:
		return "A number of a row moved by at least so much within a time."
	case WatchBriefPublished:
		return "A brief was logged."
	}
	return "Your credits fell below a number."
}

// arguments are the names of those that t takes, the required ones first, and how many those are.
func (t WatchType) arguments() (names []string, required int) {
	switch t {
	case WatchStatePublished:
		return []string{"members", "pack"}, 0
	case WatchFlagChanged:
		return []string{"changes", "kinds", "pack", "severity"}, 0
	case WatchConditionMet:
		return []string{"field", "key", "member", "op", "value", "pack", "rearm"}, 5
	case WatchChangeMoved:
		return []string{"field", "key", "member", "windowMinutes", "absolute", "pack", "percent"}, 4
	case WatchBriefPublished:
		return []string{"pack"}, 0
	}
	return []string{"below"}, 1
}

// WatchArguments say what a watch of a type waits for. Their JSON, with the defaults, is the one form of them: members are in the order of
// the alphabet.
type WatchArguments struct {
	Absolute      float64      `json:"absolute,omitempty"`
	Below         int64        `json:"below,omitempty"`
	Changes       []FlagChange `json:"changes,omitempty"`
	Field         string       `json:"field,omitempty"`
	Key           string       `json:"key,omitempty"`
	Kinds         []string     `json:"kinds,omitempty"`
	Member        string       `json:"member,omitempty"`
	Members       []string     `json:"members,omitempty"`
	Op            Comparison   `json:"op,omitempty"`
	Pack          string       `json:"pack,omitempty"`
	Percent       float64      `json:"percent,omitempty"`
	Rearm         *float64     `json:"rearm,omitempty"` // where the number has to come before the bound counts again
	Severity      Severity     `json:"severity,omitempty"`
	Value         *float64     `json:"value,omitempty"`
	WindowMinutes int          `json:"windowMinutes,omitempty"`
}

// Bounds of the arguments of watches.
const (
	WatchWindowMin   = 5     // minutes
	WatchWindowMax   = 1_440 // minutes
	MaxWatchNames    = 20    // members or kinds
	MaxWatchName     = 120   // bytes of a name
	MaxWatchArgument = 4 << 10
)

// ParseWatch reads the arguments of a watch of a type, with their defaults. nil are none.
func ParseWatch(t WatchType, raw json.RawMessage) (a WatchArguments, err error) {
	if !slices.Contains(WatchTypes(), t) {
		return a, Errorf(ReasonInvalidType, "%q is no type of watches", clip(oneLine(string(t)))).
			WithHint("there are %s", List(WatchTypes()))
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	names, required := t.arguments()
	wrong := func(format string, args ...any) (WatchArguments, error) {
		return a, Errorf(ReasonInvalidArguments, format, args...).WithHint("%s takes: %s", t, strings.Join(names, ", "))
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil || len(raw) > MaxWatchArgument {
		return wrong("arguments is not an object of at most %d bytes", MaxWatchArgument)
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return wrong("%s takes no argument %q", t, clip(oneLine(name)))
		}
	}
	for _, name := range names[:required] {
		if members[name] == nil {
			return wrong("argument %s is missing", name)
		}
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) {
			return wrong("%s cannot be a JSON %s", kind.Field, kind.Value)
		}
		return wrong("arguments cannot be read")
	}
	if slices.Contains(names, "pack") {
		a.Pack = cmp.Or(a.Pack, DefaultPack)
	}
	if what := a.complete(t); what != "" {
		return wrong("%s", what)
	}
	return a, nil
}

// complete puts defaults and order into a, and says what is wrong with it, "" for nothing.
func (a *WatchArguments) complete(t WatchType) (wrong string) {
	for _, list := range []*[]string{&a.Members, &a.Kinds} {
		if slices.Sort(*list); len(*list) > MaxWatchNames {
			return fmt.Sprintf("there are more than %d names", MaxWatchNames)
		}
		*list = slices.Compact(*list)
	}
	for _, name := range append(slices.Concat(a.Members, a.Kinds), a.Member, a.Key, a.Field, a.Pack) {
		if len(name) > MaxWatchName || oneLine(name) != name {
			return fmt.Sprintf("the name %q is longer than %d bytes or no plain text", clip(oneLine(name)), MaxWatchName)
		}
	}
	switch t {
	case WatchFlagChanged:
		a.Severity = cmp.Or(a.Severity, SeverityWarning)
		if len(a.Changes) == 0 {
			a.Changes = []FlagChange{FlagAppeared, FlagRose}
		}
		slices.Sort(a.Changes)
		a.Changes = slices.Compact(a.Changes)
		for _, c := range a.Changes {
			if c != FlagAppeared && c != FlagRose && c != FlagEnded {
				return fmt.Sprintf("changes has %q, which is none of appeared, rose, ended", clip(oneLine(string(c))))
			}
		}
		if a.Severity.Rank() == 0 {
			return fmt.Sprintf("severity is %q, which is none of %s", clip(oneLine(string(a.Severity))), List(Severities()))
		}
	case WatchConditionMet:
		if !slices.Contains(WatchComparisons(), a.Op) || a.Value == nil {
			return "op is none of " + List(WatchComparisons()) + ", or value is no number"
		}
		if a.Rearm != nil && (a.Op == CompareEqual || a.Holds(*a.Rearm)) {
			return "rearm is not on the other side of value, or op is ="
		}
	case WatchChangeMoved:
		switch {
		case a.WindowMinutes < WatchWindowMin || a.WindowMinutes > WatchWindowMax:
			return fmt.Sprintf("windowMinutes is not from %d to %d", WatchWindowMin, WatchWindowMax)
		case (a.Percent > 0) == (a.Absolute > 0) || a.Percent < 0 || a.Absolute < 0:
			return "one of percent and absolute is needed, more than 0"
		}
	case WatchCreditsLow:
		if a.Below < 1 || a.Below > math.MaxInt32 {
			return fmt.Sprintf("below is not from 1 to %d", math.MaxInt32)
		}
	}
	if strings.Trim(a.Member+a.Key+a.Field, " ") == "" && (t == WatchConditionMet || t == WatchChangeMoved) {
		return "member, key and field name a number of a row"
	}
	return ""
}

// Canonical is the one form of a.
func (a WatchArguments) Canonical() json.RawMessage {
	var text bytes.Buffer
	encode := json.NewEncoder(&text)
	encode.SetEscapeHTML(false)
	_ = encode.Encode(a) // of texts and finite numbers
	return bytes.TrimSpace(text.Bytes())
}

// WatchComparisons are those of condition.met.
func WatchComparisons() []Comparison {
	return []Comparison{CompareLess, CompareAtMost, CompareMore, CompareAtLeast, CompareEqual}
}

// Holds reports whether a number meets the bound of a.
func (a WatchArguments) Holds(n float64) bool {
	switch a.Op {
	case CompareLess:
		return n < *a.Value
	case CompareAtMost:
		return n <= *a.Value
	case CompareMore:
		return n > *a.Value
	case CompareAtLeast:
		return n >= *a.Value
	}
	return n == *a.Value
}

// Rearmed reports whether a number, which does not meet the bound of a, has come so far from it that the bound counts again.
func (a WatchArguments) Rearmed(n float64) bool {
	switch {
	case a.Rearm == nil:
		return true
	case a.Op == CompareLess || a.Op == CompareAtMost:
		return n >= *a.Rearm
	}
	return n <= *a.Rearm
}

// InputSchema is the JSON Schema of the arguments of t where packs are served.
func (t WatchType) InputSchema(packs []string) map[string]any {
	names, required := t.arguments()
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": names[:required],
		"properties": watchProperties(reflect.TypeFor[WatchArguments](), names, packs),
	}
}

// PayloadSchema is the JSON Schema of the data of the events of t.
func (t WatchType) PayloadSchema() map[string]any {
	return map[string]any{
		"type": "object", "required": []string{"message", "at"},
		"properties": watchProperties(reflect.TypeFor[EventData](), t.data(), nil),
	}
}

// data are the names of the members of an event of t.
func (t WatchType) data() []string {
	names := []string{"message", "pack", "at", "change", "url", "citations", "snapshot", "proof", "demo"}
	switch t {
	case WatchStatePublished:
		return append(names, "changedMembers", "degraded")
	case WatchFlagChanged:
		return append(names, "kind", "severity", "subject", "flag")
	case WatchConditionMet:
		return append(names, "subject", "row", "field", "value", "bound")
	case WatchChangeMoved:
		return append(names, "subject", "row", "field", "from", "to", "percent")
	case WatchBriefPublished:
		return append(names, "headline")
	}
	return []string{"message", "at", "change", "balance", "url"}
}

func watchProperties(of reflect.Type, names, packs []string) map[string]any {
	list := map[string]any{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(names, name) {
			continue
		}
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		s := map[string]any{}
		switch {
		case kind == reflect.TypeFor[time.Time]():
			s["type"], s["format"] = "string", "date-time"
		case kind.Kind() == reflect.String:
			s["type"] = "string"
		case kind.Kind() == reflect.Bool:
			s["type"] = "boolean"
		case kind.Kind() == reflect.Int, kind.Kind() == reflect.Int64:
			s["type"] = "integer"
		case kind.Kind() == reflect.Float64:
			s["type"] = "number"
		case kind == reflect.TypeFor[json.RawMessage](), kind.Kind() == reflect.Struct:
			s["type"] = "object"
		default:
			s["type"] = "array"
		}
		switch name {
		case "op":
			s["enum"] = WatchComparisons()
		case "severity":
			s["enum"] = Severities()
		case "windowMinutes":
			s["minimum"], s["maximum"] = WatchWindowMin, WatchWindowMax
		case "pack":
			if s["default"] = DefaultPack; len(packs) > 0 {
				s["enum"] = packs
			}
		}
		list[name] = s
	}
	if packs == nil {
		if pack, ok := list["pack"].(map[string]any); ok {
			delete(pack, "default")
		}
	}
	return list
}

// Event is one event of a watch, as every delivery has it. ID is the same on each of them, and on every node.
type Event struct {
	ID        string          `json:"eventId"`
	Name      WatchType       `json:"name"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"` // an EventData
	Cursor    *string         `json:"cursor,omitempty"`
}

// EventData is what an event tells. Texts that come from sources stand in the members named for them: they are data, not instructions.
type EventData struct {
	Message        string          `json:"message"` // for people, a line
	Pack           string          `json:"pack,omitempty"`
	At             time.Time       `json:"at"` // generatedAt of the state
	Change         string          `json:"change,omitempty"`
	URL            string          `json:"url,omitempty"`
	Kind           string          `json:"kind,omitempty"`     // of a flag
	Severity       Severity        `json:"severity,omitempty"` // of a flag
	Subject        string          `json:"subject,omitempty"`
	Flag           json.RawMessage `json:"flag,omitempty"` // as the state has it
	Row            string          `json:"row,omitempty"`  // member/key
	Field          string          `json:"field,omitempty"`
	Value          *float64        `json:"value,omitempty"`
	Bound          string          `json:"bound,omitempty"` // such as "< 90000"
	From           *EventPoint     `json:"from,omitempty"`
	To             *EventPoint     `json:"to,omitempty"`
	Percent        *float64        `json:"percent,omitempty"`
	Headline       string          `json:"headline,omitempty"`       // the first sentence of a brief
	ChangedMembers []string        `json:"changedMembers,omitempty"` // of the state
	Degraded       []string        `json:"degraded,omitempty"`       // ids of sources that are not ok
	Balance        *int64          `json:"balance,omitempty"`        // credits
	Citations      []EventCitation `json:"citations,omitempty"`
	Snapshot       *EventSnapshot  `json:"snapshot,omitempty"`
	Proof          *Proof          `json:"proof,omitempty"` // the leaf of the log that has the state or brief
	Demo           bool            `json:"demo,omitempty"`  // recorded, synthetic data
}

// EventPoint is a number at a time.
type EventPoint struct {
	Value float64   `json:"value"`
	At    time.Time `json:"at"`
}

// EventCitation is a source of an event.
type EventCitation struct {
	N    int       `json:"n"`
	Name string    `json:"name"`
	URL  string    `json:"url"`
	At   time.Time `json:"at"`
}

// EventSnapshot is where the state of an event is read.
type EventSnapshot struct {
	URL string `json:"url"`
}

// EventPage is a page of events, oldest first. Truncated says that there were older ones that are kept no longer.
type EventPage struct {
	Events     []Event `json:"events"`
	Cursor     string  `json:"cursor"`
	Truncated  bool    `json:"truncated"`
	HasMore    bool    `json:"hasMore"`
	NextPollMs int64   `json:"nextPollMs"`
}

// DeliveryType is how the events of a watch are delivered.
type DeliveryType string

// The types of deliveries.
const (
	DeliverPoll    DeliveryType = "poll" // its reader asks
	DeliverWebhook DeliveryType = "webhook"
	DeliverEmail   DeliveryType = "email"
	DeliverNtfy    DeliveryType = "ntfy"
)

// DeliveryTypes returns the types of deliveries.
func DeliveryTypes() []DeliveryType {
	return []DeliveryType{DeliverPoll, DeliverWebhook, DeliverEmail, DeliverNtfy}
}

// WatchDelivery is where the events of a watch go. Secrets in it are never told again.
type WatchDelivery struct {
	Type  DeliveryType `json:"type"`
	URL   string       `json:"url,omitempty"`   // of a webhook, or of a server of ntfy
	Topic string       `json:"topic,omitempty"` // of ntfy
	Email string       `json:"email,omitempty"`

	Secret string `json:"secret,omitempty"` // of a webhook; only in requests
	Token  string `json:"token,omitempty"`  // of ntfy; only in requests
}

// WatchStatus says whether a watch is told events.
type WatchStatus string

// The statuses of a watch.
const (
	WatchActive    WatchStatus = "active"
	WatchPaused    WatchStatus = "paused"    // its day is not paid
	WatchSuspended WatchStatus = "suspended" // its receiver has failed for too long
)

// WatchStatuses returns the statuses of a watch.
func WatchStatuses() []WatchStatus { return []WatchStatus{WatchActive, WatchPaused, WatchSuspended} }

// WatchRequest makes a watch. The same request by the same key is the same watch.
type WatchRequest struct {
	Type      WatchType       `json:"type"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // as WatchArguments
	Delivery  WatchDelivery   `json:"delivery,omitzero"`   // none means poll
	ExpiresAt *time.Time      `json:"expiresAt,omitempty"` // at most MaxWatchLife ahead, which is the default
	Cursor    string          `json:"cursor,omitempty"`    // where to begin; "" means now
}

// Watch is a condition of an owner, and where its events go.
type Watch struct {
	ID             string          `json:"watchId"`
	KeyID          string          `json:"keyId"`
	Type           WatchType       `json:"type"`
	Arguments      json.RawMessage `json:"arguments"`
	Delivery       WatchDelivery   `json:"delivery"`
	Status         WatchStatus     `json:"status"`
	CreatedAt      time.Time       `json:"createdAt"`
	ExpiresAt      time.Time       `json:"expiresAt"`
	PaidUntil      time.Time       `json:"paidUntil"`
	Cursor         string          `json:"cursor,omitempty"`         // of the answer that made it: from here on its events are
	Secret         string          `json:"secret,omitempty"`         // of its webhook, once
	LastDeliveryAt *time.Time      `json:"lastDeliveryAt,omitempty"` // that was taken
	LastError      string          `json:"lastError,omitempty"`      // a word, never the text of the receiver
	FailedSince    *time.Time      `json:"failedSince,omitempty"`
	Failures       int             `json:"failures,omitempty"` // attempts in a row
	Gap            string          `json:"gap,omitempty"`      // cursor before the first event that was given up and not told of yet
}

// WatchList are the watches of an owner, oldest first.
type WatchList struct {
	Watches []Watch `json:"watches"`
}

// Limits of watches.
const (
	MaxWatchLife        = 365 * 24 * time.Hour
	WatchDay            = 24 * time.Hour // that a credit pays for
	WatchReplay         = 24 * time.Hour // from which a cursor resumes without loss
	WatchPage           = 50             // events of a page
	WatchStates         = 48             // states that a page looks at
	WatchPolls          = 60             // pages a minute and key
	WatchesPerFreeKey   = 3
	WatchesPerFreeOwner = 3
	WatchesPerKey       = 20
	WatchesPerOwner     = 100
)
