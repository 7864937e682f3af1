package source

import (
	"encoding/json"
	"io"
	"net/netip"
	"time"

	"github.com/contextd/contextd/internal/outbound"
)

type (
	Request   = request
	FeedEntry = feedEntry
	Number    = number
)

const MaxRows = maxRows

// What the tests call. Each is its namesake.

func NewClient(cfg Config) *client { return newClient(cfg) }

func AsFailure(err error) *failure { return asFailure(err) }

func Fail(class Class, format string, args ...any) *failure { return fail(class, format, args...) }

func ErrNotModified() error { return errNotModified }

func ParseFeed(body io.Reader) ([]FeedEntry, error) { return parseFeed(body) }

func DecodeObject(r io.Reader, v any) error { return decodeObject(r, v) }

func DecodeRows[T, R any](body io.Reader, convert func(T) (R, string, bool)) ([]R, int, error) {
	return decodeRows(body, convert)
}

func ConvertRows[T, R any](list []json.RawMessage, convert func(T) (R, string, bool)) ([]R, int, error) {
	return convertRows(list, convert)
}

func ChangeSince(points []Sample, before time.Duration) *float64 { return changeSince(points, before) }

func ClampTime(t, at time.Time) time.Time { return clampTime(t, at) }

func Special(ip netip.Addr) bool { return outbound.Special(ip) }

func Local(host string) bool { return outbound.Local(host) }

func BodiesOf(a *attempt) []string { return a.bodies }
