package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	attempts    = 5
	longestWait = time.Minute
	largestBody = 8 << 20
)

// api calls a platform with one key. What failed on the way is sent again: reads,
// deletions and changes are the same the second time, and creations carry a key.
type api struct {
	url  string
	key  string
	http *http.Client
}

// problem is an answer that refuses.
type problem struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Code    string `json:"code"`
	Field   string `json:"field"`
	request string
}

func (p *problem) Error() string {
	text := p.Message
	if p.Field != "" && !strings.HasPrefix(text, p.Field) {
		text = fmt.Sprintf("%s: %s", p.Field, text)
	}
	if p.Code != "" {
		text = fmt.Sprintf("%s (%s)", text, p.Code)
	}
	return fmt.Sprintf("%s\n\nStatus %d, request %s", text, p.Status, p.request)
}

func isMissing(err error) bool {
	var refused *problem
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

func newAPI(url, key string) *api {
	return &api{
		url:  strings.TrimRight(url, "/"),
		key:  key,
		http: &http.Client{Timeout: time.Minute},
	}
}

// call sends one request, and reads its answer into `into` unless that is nil.
func (a *api) call(ctx context.Context, method, path string, body, into any) error {
	return a.send(ctx, method, path, "", body, into)
}

// create is call for what an Idempotency-Key keeps from being made twice.
func (a *api) create(ctx context.Context, path string, body, into any) error {
	return a.send(ctx, http.MethodPost, path, "terraform-"+rand.Text(), body, into)
}

// createOnce is create for what takes no Idempotency-Key: it is sent once.
func (a *api) createOnce(ctx context.Context, path string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = a.once(ctx, http.MethodPost, path, "", encoded, into)
	return err
}

func (a *api) send(
	ctx context.Context, method, path, idempotencyKey string, body, into any,
) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		wait, err := a.once(ctx, method, path, idempotencyKey, encoded, into)
		if err == nil || wait < 0 || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(wait, time.Duration(attempt)*time.Second)):
		}
	}
}

// once returns also how long to wait before it may be sent again: never, if negative.
func (a *api) once(
	ctx context.Context, method, path, idempotencyKey string, body []byte, into any,
) (time.Duration, error) {
	const never = time.Duration(-1)
	request, err := http.NewRequestWithContext(
		ctx, method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return never, err
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("the platform does not answer: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, largestBody))
	if err != nil {
		return 0, fmt.Errorf("the platform's answer was cut off: %w", err)
	}
	if response.StatusCode/100 == 2 {
		if into == nil {
			return never, nil
		}
		if err := json.Unmarshal(text, into); err != nil {
			return never, fmt.Errorf("%s answers with something else than JSON; is its URL that of a platform? %w", a.url, err)
		}
		return never, nil
	}
	refused := &problem{
		Status: response.StatusCode, request: response.Header.Get("Request-Id")}
	if json.Unmarshal(text, refused) != nil || refused.Message == "" {
		refused.Message = http.StatusText(response.StatusCode)
	}
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500 {
		return retryAfter(response), refused
	}
	return never, refused
}

func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}
