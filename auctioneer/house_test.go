package main

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg"
	"google.golang.org/grpc"
)

// house is an auction on a fake chain, with a clock that tests move, that can
// be killed and started again from what is on the disk.
type house struct {
	t       *testing.T
	home    string
	chain   *fakeChain
	auction *Auction
	address string
	server  *grpc.Server

	mu   sync.Mutex
	time time.Time
}

var testTerms = Terms{
	MaxAccount: 1_000_000_000, BaseFee: 1, FeeRate: 1000, BatchFee: 500,
	Durations: []uint32{2016, 4032}, Renewal: 3024, Apart: time.Minute,
}

func newHouse(t *testing.T) *house {
	h := &house{
		t: t, home: t.TempDir(), chain: newFakeChain(),
		time: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	h.start()
	t.Cleanup(func() { h.server.Stop() })
	return h
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

func (h *house) later(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = h.time.Add(by)
}

func (h *house) start() {
	store, err := openStore(filepath.Join(h.home, "state.json"), "simnet")
	h.must(err)
	keys, err := loadKeys(filepath.Join(h.home, "keys.json"), true)
	h.must(err)
	h.auction = newAuction(&chaincfg.SimNetParams, testTerms, keys, store,
		h.chain, h.now)
	if h.address == "" {
		h.address = "127.0.0.1:0"
	}
	var listener net.Listener
	eventually(h.t, "the port is free again", func() bool {
		listener, err = net.Listen("tcp", h.address)
		return err == nil
	})
	h.address = listener.Addr().String()
	h.server = newServer(h.auction, newMail())
	server := h.server
	go func() { _ = server.Serve(listener) }()
}

// restart throws away everything that is not on the disk.
func (h *house) restart() {
	h.server.Stop()
	h.start()
}

// tick waits out the quiet after greetings, and runs one batch.
func (h *house) tick() Result {
	h.t.Helper()
	result, err := h.tryTick()
	h.must(err)
	return result
}

func (h *house) tryTick() (Result, error) {
	h.t.Helper()
	h.later(2 * quiet)
	ctx := context.Background()
	h.must(h.auction.look(ctx, true))
	return h.auction.tick(ctx)
}

// block mines one, and has the auction notice.
func (h *house) block() {
	h.t.Helper()
	h.chain.mine()
	h.must(h.auction.resend(context.Background()))
	h.must(h.auction.look(context.Background(), true))
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) account(trader Key) Account {
	return h.auction.store.View().Accounts[trader]
}

// recipientsReady waits for each recipient of a sidecar channel, who hears of its
// success a moment before its stream counts as connected.
func (h *house) recipientsReady() {
	h.t.Helper()
	eventually(h.t, "the recipients are connected", func() bool {
		return !slices.ContainsFunc(h.report().Orders, func(o OrderReport) bool {
			return slices.Contains(o.Waiting, "the recipient is not connected")
		})
	})
}

// eventually waits for a condition, for as long as a slow machine may need.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !happened() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
