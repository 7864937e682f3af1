package web

import (
	"net/http"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// PackRoutes are those of the list of packs, for Config. It is asked for the list at every call.
func PackRoutes(list func() []api.PackInfo) Routes {
	return Routes{api.PathPacks: {http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
		text, err := jsonx.Encode(api.PacksResponse{Packs: list()})
		if err != nil {
			return err
		}
		return document{contentType: "application/json", text: append(text, '\n'), cache: api.CacheRevalidate}.handler()(w, r)
	}}}
}
