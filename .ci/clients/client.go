// Client calls a daemon through the client that oapi-codegen made of its description, as BASE_URL and with API_KEY. What is answered and not
// described fails it: a member, a header that cannot be read, a status without a type.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"client/service"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("BASE_URL"), os.Getenv("API_KEY")); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the Go client: fresh, brief, search, snapshot, cite twice, 400, 401, 402, 404")
}

func run(ctx context.Context, base, key string) error {
	paying, err := service.NewClientWithResponses(base, service.WithRequestEditorFn(bearer(key)))
	if err != nil {
		return err
	}
	fresh, err := paying.GetFreshWithResponse(ctx, nil)
	if err != nil || fresh.JSON200 == nil || fresh.Headers200 == nil {
		return fmt.Errorf("fresh: %v, %s", err, fresh.Body)
	}
	if err := state(fresh.Body); err != nil {
		return fmt.Errorf("fresh: %w", err)
	}
	if now := fresh.JSON200; now.Brief == "" || len(now.Citations) == 0 || fresh.Headers200.CacheControl == "" {
		return fmt.Errorf("fresh lacks something: %s, %v", fresh.Body, fresh.Headers200)
	}
	brief, err := paying.GetBriefWithResponse(ctx, nil)
	if err != nil || brief.JSON200 == nil || brief.JSON200.Brief == "" {
		return fmt.Errorf("brief: %v, %s", err, brief.Body)
	}
	if err := strictly[service.BriefResponse](brief.Body); err != nil {
		return fmt.Errorf("brief: %w", err)
	}
	found, err := paying.GetSearchWithResponse(ctx, &service.GetSearchParams{Q: "bitcoin"})
	if err != nil || found.JSON200 == nil || found.JSON200.Total == 0 || found.JSON200.Matches[0].Value == nil {
		return fmt.Errorf("search: %v, %s", err, found.Body)
	}
	if err := strictly[service.SearchResponse](found.Body); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	at := time.Now().UTC().Add(-20 * time.Minute).Format("2006-01-02T15:04")
	snapshot, err := paying.GetSnapshotWithResponse(ctx, &service.GetSnapshotParams{At: at})
	if err != nil || snapshot.JSON200 == nil {
		return fmt.Errorf("snapshot: %v, %s", err, snapshot.Body)
	}
	if err := state(snapshot.Body); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return sources(ctx, paying, base)
}

// sources asks for the source of an anchor, in both ways and wrongly.
func sources(ctx context.Context, paying *service.ClientWithResponses, base string) error {
	third := 3
	cited, err := paying.GetCiteWithResponse(ctx, &service.GetCiteParams{Ref: third})
	if err != nil || cited.JSON200 == nil {
		return fmt.Errorf("cite: %v, %s", err, cited.Body)
	}
	if err := strictly[service.CiteResponse](cited.Body); err != nil {
		return fmt.Errorf("cite: %w", err)
	}
	again, err := paying.CiteByBodyWithResponse(ctx, nil, service.CiteRequest{Ref: &third})
	if err != nil || again.JSON200 == nil || again.JSON200.Source != cited.JSON200.Source {
		return fmt.Errorf("cite by body: %v, %s", err, again.Body)
	}
	missing, err := paying.GetCiteWithResponse(ctx, &service.GetCiteParams{Ref: 999})
	if err != nil || missing.JSON404 == nil || missing.JSON404.Error.Code != "CITATION_NOT_FOUND" {
		return fmt.Errorf("cite of no source: %v, %s", err, missing.Body)
	}
	wrong, err := paying.GetCiteWithResponse(ctx, &service.GetCiteParams{})
	if err != nil || wrong.JSON400 == nil || wrong.JSON400.Error.Reason == nil || *wrong.JSON400.Error.Reason != "invalid_ref" {
		return fmt.Errorf("cite of 0: %v, %s", err, wrong.Body)
	}
	return refused(ctx, base)
}

// refused calls with a key that is none, and without one.
func refused(ctx context.Context, base string) error {
	stranger, err := service.NewClientWithResponses(base)
	if err != nil {
		return err
	}
	denied, err := stranger.GetFreshWithResponse(ctx, nil, bearer("cv_test_00000000000000000000000000000000"))
	if err != nil || denied.JSON401 == nil || denied.Headers401 == nil || denied.Headers401.WWWAuthenticate == "" {
		return fmt.Errorf("fresh with a wrong key: %v, %s", err, denied.Body)
	}
	quoted, err := stranger.GetFreshWithResponse(ctx, nil)
	if err != nil || quoted.JSON402 == nil {
		return fmt.Errorf("fresh without a key: %v, %s", err, quoted.Body)
	}
	quote, err := quoted.JSON402.AsPaymentRequiredBody()
	if err != nil || quote.Payment.Scheme != "x402" || quote.Payment.Amount != "0.001" {
		return fmt.Errorf("the quote: %v, %s", err, quoted.Body)
	}
	return strictly[service.PaymentRequiredBody](quoted.Body)
}

func bearer(key string) service.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
}

// state reads an answer with a state and then the state, which is a union and therefore raw.
func state(body []byte) error {
	if err := strictly[service.MindResponse](body); err != nil {
		return err
	}
	var answer struct {
		State json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	return strictly[service.CryptoState](answer.State)
}

// strictly reads a body as T and takes no member that T does not have.
func strictly[T any](body []byte) error {
	var value T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(&value)
}
