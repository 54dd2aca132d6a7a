package main

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Report is what GET /status shows: everything, and no secret.
type Report struct {
	Network   string          `json:"network"`
	Height    uint32          `json:"height"`
	NextClear time.Time       `json:"next_clear"`
	Streams   int             `json:"streams"`
	Running   bool            `json:"running"`
	Accounts  []AccountReport `json:"accounts"`
	Orders    []OrderReport   `json:"orders"` // the open ones
	Batches   []BatchReport   `json:"batches"`
}

// AccountReport is one account.
type AccountReport struct {
	Trader    Key    `json:"trader"`
	Value     int64  `json:"value"`
	Status    Status `json:"status"`
	Expiry    uint32 `json:"expiry"`
	Version   uint8  `json:"version"`
	Connected bool   `json:"connected"`
}

// OrderReport is one open order.
type OrderReport struct {
	Nonce    Nonce  `json:"nonce"`
	Side     string `json:"side"`
	Trader   Key    `json:"trader"`
	Sats     int64  `json:"sats"` // what is left of it
	Rate     uint32 `json:"rate"`
	Duration uint32 `json:"duration"`
	Sidecar  bool   `json:"sidecar"`

	// Waiting says, of a bid, why it is not matched, once for each reason.
	Waiting []string `json:"waiting,omitempty"`
}

// BatchReport is one batch.
type BatchReport struct {
	ID        Key       `json:"id"`
	Txid      string    `json:"txid"`
	Height    uint32    `json:"height"`
	Made      time.Time `json:"made"`
	Confirmed bool      `json:"confirmed"`
}

// status collects the report.
func (a *Auction) status(ctx context.Context) (Report, error) {
	height, err := a.chain.Height(ctx)
	if err != nil {
		return Report{}, err
	}
	a.mu.Lock()
	state := a.store.View()
	book := a.book(state, height)
	report := Report{
		Network: a.params.Name, Height: height, NextClear: a.nextClear.UTC(),
		Streams: a.crowd.count(), Running: a.running != nil,
		Accounts: []AccountReport{}, Orders: []OrderReport{},
		Batches: []BatchReport{},
	}
	a.mu.Unlock()
	for _, account := range state.Accounts {
		report.Accounts = append(report.Accounts, AccountReport{
			Trader: account.Trader, Value: int64(account.Value),
			Status: account.Status, Expiry: account.Expiry,
			Version:   uint8(account.Version),
			Connected: a.crowd.connected(account.Trader, false),
		})
	}
	slices.SortFunc(report.Accounts, func(x, y AccountReport) int {
		return cmp.Compare(x.Trader.Hex(), y.Trader.Hex())
	})
	slices.SortFunc(book.Orders, func(x, y Order) int {
		return cmp.Compare(x.Sequence, y.Sequence)
	})
	for _, o := range book.Orders {
		side := "bid"
		if o.IsAsk {
			side = "ask"
		}
		report.Orders = append(report.Orders, OrderReport{
			Nonce: o.Nonce, Side: side, Trader: o.trader(),
			Sats: int64(o.Unfilled.ToSatoshis()), Rate: o.kit().FixedRate,
			Duration: o.duration(), Sidecar: o.sidecar(),
			Waiting: book.waiting(o),
		})
	}
	for _, batch := range state.Batches {
		report.Batches = append(report.Batches, BatchReport{
			ID: batch.ID, Txid: batch.Txid.String(), Height: batch.Height,
			Made: batch.Made, Confirmed: batch.Confirmed,
		})
	}
	return report, nil
}

// waiting says why a bid is not matched with any ask.
func (b Book) waiting(bid Order) []string {
	if bid.IsAsk {
		return nil
	}
	var reasons []string
	for _, ask := range b.side(bid.duration(), true) {
		reason := b.refuse(ask, bid)
		if reason == "" && fill(ask, bid, ask.Unfilled, bid.Unfilled) == 0 {
			reason = "the orders' sizes do not meet"
		}
		if reason == "" {
			return nil
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "there is no ask for such a lease")
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
