package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// control answers on the loopback port: GET /status, POST /tick.
func (a *Auction) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := a.status(r.Context())
		reply(w, status, err)
	})
	mux.HandleFunc("POST /tick", func(w http.ResponseWriter, r *http.Request) {
		if err := a.look(r.Context(), false); err != nil {
			reply(w, nil, err)
			return
		}
		// A batch that has begun ends, even if nobody waits for the answer.
		result, err := a.tick(context.WithoutCancel(r.Context()))
		reply(w, result, err)
	})
	return localOnly(mux)
}

// localOnly keeps web pages out: a browser on this machine can be led to our
// port by any page, but says so in its headers.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || !loopback(r.Host) {
			http.Error(w, `{"message": "not for browsers"}`,
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback says whether an address, with or without a port, is this machine's
// own and nobody else's.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = map[string]string{"message": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // nobody is left to be told
}

// serveControl listens on a loopback address, and on no other.
func serveControl(address string, handler http.Handler) (net.Listener,
	*http.Server, error) {

	if !loopback(address) {
		return nil, nil, fmt.Errorf("-control %s is refused: it is for this "+
			"machine alone, take 127.0.0.1", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	return listener, &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second,
	}, nil
}
