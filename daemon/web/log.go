package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Logs answer for the transparency logs; *translog.Logs is one. Each answer comes with its entity tag.
type Logs interface {
	Checkpoint(ctx context.Context, pack string) (text []byte, tag string, err error)
	Part(ctx context.Context, pack, path string) (text []byte, tag string, full bool, err error)
	Leaf(ctx context.Context, pack string, seq int64) (text []byte, tag string, err error)
	At(ctx context.Context, pack, minute string) (text []byte, tag string, err error)
}

// maxLogCalls is how often a client may ask for logs in a minute. A year of a pack is read in less than two.
const maxLogCalls = 600

// Paths of tiles and bundles: those of a log of less than 256,000 leaves, and of others.
const (
	pathTile  = api.PathLog + "/tile/{level}/{n}"
	pathPart  = pathTile + "/{width}"
	pathTiles = api.PathLog + "/tile/{path...}"
)

// logRoutes serves logs.
type logRoutes struct {
	logs  Logs
	who   *Proxies
	calls *Limiter
}

// LogRoutes are the routes of the transparency logs, for Config. They are free and ask for no key.
func LogRoutes(logs Logs, trusted *Proxies, now func() time.Time) Routes {
	l := logRoutes{logs: logs, who: trusted, calls: NewLimiter(maxLogCalls, time.Minute/maxLogCalls, now)}
	tile := map[string]Handler{http.MethodGet: l.bounded(l.tile)}
	return Routes{
		api.PathLogCheckpoint: {http.MethodGet: l.bounded(l.checkpoint)},
		api.PathLogLeaf:       {http.MethodGet: l.bounded(l.leaf)},
		api.PathLogAt:         {http.MethodGet: l.bounded(l.at)},
		pathTile:              tile, pathPart: tile, pathTiles: tile,
	}
}

// bounded is next for clients who do not ask too often.
func (l logRoutes) bounded(next Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Access-Control-Allow-Origin", "*") // verifiers in browsers read logs
		if err := l.calls.Allow(l.who.ClientOf(r)); err != nil {
			return err
		}
		return next(w, r)
	}
}

// Cache-Control of what a log answers: a checkpoint is news for seconds, a full tile stays for ever, and what is of an unfinished tile, or
// of the newest checkpoint, is soon replaced by more.
const (
	cacheCheckpoint = "public, max-age=5"
	cacheTile       = "public, max-age=31536000, immutable"
	cachePart       = "public, max-age=60"
)

// give sends a text, or says that the client's copy is still good.
func give(w http.ResponseWriter, r *http.Request, contentType, cache string, text []byte, tag string) {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", cache)
	if has(r.Header["If-None-Match"], tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	Send(w, http.StatusOK, contentType, text)
}

func (l logRoutes) checkpoint(w http.ResponseWriter, r *http.Request) error {
	text, tag, err := l.logs.Checkpoint(r.Context(), r.PathValue("pack"))
	if err == nil {
		give(w, r, "text/plain; charset=utf-8", cacheCheckpoint, text, tag)
	}
	return err
}

func (l logRoutes) tile(w http.ResponseWriter, r *http.Request) error {
	pack := r.PathValue("pack")
	path := strings.TrimPrefix(r.URL.Path, "/log/"+pack+"/tile/")
	text, tag, full, err := l.logs.Part(r.Context(), pack, path)
	if err != nil {
		return err
	}
	cache := cachePart
	if full {
		cache = cacheTile
	}
	give(w, r, "application/octet-stream", cache, text, tag)
	return nil
}

func (l logRoutes) leaf(w http.ResponseWriter, r *http.Request) error {
	text := r.PathValue("seq")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seq, 10) != text {
		return api.Errorf(api.ReasonNotFound, "a leaf is a number from 0").WithHint("/log/{pack}/leaf/0")
	}
	body, tag, err := l.logs.Leaf(r.Context(), r.PathValue("pack"), seq)
	if err == nil {
		give(w, r, "application/json", cachePart, body, tag)
	}
	return err
}

func (l logRoutes) at(w http.ResponseWriter, r *http.Request) error {
	values, err := Parameters(r, "minute")
	if err != nil {
		return err
	}
	body, tag, err := l.logs.At(r.Context(), r.PathValue("pack"), values.Get("minute"))
	if err == nil {
		give(w, r, "application/json", cachePart, body, tag)
	}
	return err
}
