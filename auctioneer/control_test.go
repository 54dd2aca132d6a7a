package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ask(t *testing.T, h http.Handler, method, path string,
	change func(*http.Request)) (int, map[string]any) {

	t.Helper()
	request := httptest.NewRequest(method, "http://127.0.0.1:1"+path, nil)
	if change != nil {
		change(request)
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	raw, err := io.ReadAll(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	_ = json.Unmarshal(raw, &answer)
	return recorder.Code, answer
}

func TestTheControlPortTellsAndTicks(t *testing.T) {
	s := newSale(t, 2, 2)
	control := s.auction.control()
	code, status := ask(t, control, "GET", "/status", nil)
	if code != 200 || status["network"] != "simnet" ||
		len(status["accounts"].([]any)) != 2 ||
		len(status["orders"].([]any)) != 2 {

		t.Fatalf("%d %v", code, status)
	}
	s.later(2 * quiet)
	code, result := ask(t, control, "POST", "/tick", nil)
	if code != 200 || result["txid"] == nil || result["channels"] != 1.0 {
		t.Fatalf("%d %v", code, result)
	}
	s.finalizedBoth()
	code, result = ask(t, control, "POST", "/tick", nil)
	if code != 200 || result["txid"] != nil {
		t.Fatalf("%d %v", code, result)
	}
	_, status = ask(t, control, "GET", "/status", nil)
	if len(status["batches"].([]any)) != 1 {
		t.Fatalf("%v", status)
	}
	if code, _ := ask(t, control, "GET", "/tick", nil); code != 405 {
		t.Fatalf("a look ran a batch: %d", code)
	}
	if code, _ := ask(t, control, "GET", "/keys", nil); code != 404 {
		t.Fatalf("%d", code)
	}
	s.chain.set(func(c *fakeChain) { c.away = true })
	code, answer := ask(t, control, "GET", "/status", nil)
	if code != 503 || answer["message"] == "" {
		t.Fatalf("%d %v", code, answer)
	}
}

func TestNothingSecretIsOnTheControlPort(t *testing.T) {
	s := newSale(t, 0, 2)
	recorder := httptest.NewRecorder()
	s.auction.control().ServeHTTP(recorder, httptest.NewRequest("GET",
		"http://localhost:1/status", nil))
	for _, secret := range [][]byte{
		s.auction.keys.Auctioneer.Serialize(),
		s.auction.keys.Revenue.Serialize(), s.selling.Secret[:],
		s.buying.Secret[:],
	} {
		hexed, err := Blob(secret).MarshalText()
		if err != nil || strings.Contains(recorder.Body.String(),
			string(hexed)) {

			t.Fatal("a secret was told")
		}
	}
}

func TestTheControlPortIsForThisMachineAlone(t *testing.T) {
	h := newHouse(t)
	control := h.auction.control()
	for name, change := range map[string]func(*http.Request){
		"a web page": func(r *http.Request) {
			r.Header.Set("Origin", "https://example.com")
		},
		"a name that leads here": func(r *http.Request) {
			r.Host = "example.com"
		},
	} {
		if code, _ := ask(t, control, "POST", "/tick", change); code != 403 {
			t.Fatalf("%s got %d", name, code)
		}
	}
	for _, address := range []string{
		"0.0.0.0:1", ":1", "192.0.2.1:1", "example.com:1",
	} {
		if _, _, err := serveControl(address, control); err == nil {
			t.Fatalf("%s was opened", address)
		}
	}
}
