package web

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// Logs answer for the transparency logs; *translog.Logs is one.
type Logs interface {
	Checkpoint(ctx context.Context, pack string) (translog.Answer, error)
	Part(ctx context.Context, pack, path string) (translog.Answer, error)
	Leaf(ctx context.Context, pack string, seq int64) (translog.Answer, error)
	At(ctx context.Context, pack, minute string) (translog.Answer, error)
	Anchor(ctx context.Context, pack string, seq int64) (translog.Answer, error)
	Row(ctx context.Context, pack, kind, key string) (translog.Answer, error)
}

// bundleCost is what it costs, in units of the crowd, to read a bundle of leaves and to compress it.
const bundleCost = 20

// maxLogCalls is how often a client may ask for logs in a minute. A year of a pack is read in less than two.
const maxLogCalls = 600

// Paths of tiles and bundles: those of a log of less than 256,000 leaves, and of others.
const (
	pathTile  = api.PathLog + "/tile/{level}/{n}"
	pathPart  = pathTile + "/{width}"
	pathTiles = api.PathLog + "/tile/{path...}"
)

type logRoutes struct {
	logs  Logs
	who   *Proxies
	crowd *Crowd
	calls *Limiter
	open  lines
}

type logAnswer func(r *http.Request) (translog.Answer, error)

// LogRoutes are the routes of the transparency logs, for Config. They are free and ask for no key.
func LogRoutes(logs Logs, trusted *Proxies, crowd *Crowd, now func() time.Time) Routes {
	l := logRoutes{logs, trusted, crowd, NewLimiter(maxLogCalls, time.Minute/maxLogCalls, now), openHeaders()[:1]}
	tile := l.bounded(l.tile)
	return crowd.Bounded(Routes{
		api.PathLogCheckpoint: l.bounded(l.checkpoint), api.PathLogLeaf: l.bounded(l.leaf), api.PathLogAt: l.bounded(l.at),
		api.PathLogRow: l.bounded(l.row), api.PathLogAnchor: l.bounded(l.anchor), pathTile: tile, pathPart: tile, pathTiles: tile,
	})
}

// bounded sends what look returns to clients who do not ask too often, or says that a client's copy is still good.
func (l logRoutes) bounded(look logAnswer) map[string]Handler {
	return map[string]Handler{http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		l.open.set(h) // verifiers in browsers read logs
		if err := l.calls.AllowAll(l.who.ClientsOf(r)...); err != nil {
			return err
		}
		if err := l.crowd.Take(r, bundleCost); err != nil {
			return err
		}
		a, err := look(r)
		if !a.Read {
			l.crowd.Give(r, bundleCost)
		}
		if err != nil {
			return err
		}
		text, head := a.Text, a.Head
		if a.Zip != nil && acceptsGzip(r.Header["Accept-Encoding"]) {
			text, head = a.Zip, a.ZipHead
		}
		maps.Copy(h, head)
		if has(r.Header["If-None-Match"], head["Etag"][0]) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, _ = w.Write(text) // a client that went away is not an error of ours
		return nil
	}}
}

func (l logRoutes) checkpoint(r *http.Request) (translog.Answer, error) {
	return l.logs.Checkpoint(r.Context(), r.PathValue("pack"))
}

func (l logRoutes) tile(r *http.Request) (translog.Answer, error) {
	pack := r.PathValue("pack")
	return l.logs.Part(r.Context(), pack, strings.TrimPrefix(r.URL.Path, "/log/"+pack+"/tile/"))
}

func (l logRoutes) leaf(r *http.Request) (translog.Answer, error) { return bySeq(r, l.logs.Leaf) }

func (l logRoutes) anchor(r *http.Request) (translog.Answer, error) { return bySeq(r, l.logs.Anchor) }

// bySeq looks for what is of the leaf that the path names.
func bySeq(r *http.Request, look func(ctx context.Context, pack string, seq int64) (translog.Answer, error)) (translog.Answer, error) {
	text := r.PathValue("seq")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seq, 10) != text {
		return translog.Answer{}, api.Errorf(api.ReasonNotFound, "a leaf is a number from 0").WithHint("/log/{pack}/leaf/0")
	}
	return look(r.Context(), r.PathValue("pack"), seq)
}

func (l logRoutes) at(r *http.Request) (translog.Answer, error) {
	minute, ok := strings.CutPrefix(r.URL.RawQuery, "minute=")
	if !ok || strings.ContainsAny(minute, "%+&;") { // there is something to decode
		values, err := Parameters(r, "minute")
		if err != nil {
			return translog.Answer{}, err
		}
		minute = values.Get("minute")
	}
	return l.logs.At(r.Context(), r.PathValue("pack"), minute)
}

func (l logRoutes) row(r *http.Request) (translog.Answer, error) {
	values, err := Parameters(r, "kind", "key")
	if err != nil {
		return translog.Answer{}, err
	}
	return l.logs.Row(r.Context(), r.PathValue("pack"), values.Get("kind"), values.Get("key"))
}
