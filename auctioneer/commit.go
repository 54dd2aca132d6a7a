package main

import (
	"maps"
	"slices"

	"github.com/btcsuite/btcd/wire"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/poolscript"
	"google.golang.org/protobuf/proto"
)

// commit writes the batch down as final, and returns what takes that back.
func (a *Auction) commit(d *Draft) (undo func() error, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.store.View()
	err = a.store.Update(func(s *State) error {
		for trader, leg := range d.Legs {
			after, err := leg.after(d)
			if err != nil {
				return err
			}
			s.Accounts[trader] = after
		}
		for _, m := range d.Clearing.Matches {
			for _, nonce := range []Nonce{m.Ask.Nonce, m.Bid.Nonce} {
				s.Orders[nonce] = s.Orders[nonce].filled(m.Units)
			}
		}
		id, err := d.ID.point()
		if err != nil {
			return err
		}
		s.NextBatch = keyOf(poolscript.IncrementKey(id))
		final, err := a.final(d, s)
		s.Batches = append(s.Batches, final)
		return err
	})
	return func() error { return a.revoke(d, before) }, err
}

// revoke puts everything back that a batch changed. Meanwhile nobody else
// could touch its accounts and orders.
func (a *Auction) revoke(d *Draft, before *State) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.store.Update(func(s *State) error {
		for trader := range d.Legs {
			s.Accounts[trader] = before.Accounts[trader]
		}
		for _, m := range d.Clearing.Matches {
			s.Orders[m.Ask.Nonce] = before.Orders[m.Ask.Nonce]
			s.Orders[m.Bid.Nonce] = before.Orders[m.Bid.Nonce]
		}
		s.NextBatch = before.NextBatch
		s.Batches = slices.DeleteFunc(s.Batches, func(b Batch) bool {
			return b.ID == d.ID
		})
		return nil
	})
}

// after returns the leg's account after the batch.
func (l *Leg) after(d *Draft) (Account, error) {
	after := l.Before
	after.Value = l.Tally.EndingBalance
	after.HeightHint = d.Height
	after.LatestTx = txBytes(d.Tx)
	if l.Next == nil {
		after.Status = Closed
		return after, nil
	}
	batchKey, err := l.Before.BatchKey.point()
	if err != nil {
		return after, err
	}
	after.BatchKey = keyOf(poolscript.IncrementKey(batchKey))
	after.Expiry = l.Expiry
	after.Status = PendingBatch
	after.OutPoint = wire.OutPoint{
		Hash: d.Tx.TxHash(), Index: uint32(l.Output),
	}
	return after, nil
}

// final returns the record of the batch.
func (a *Auction) final(d *Draft, s *State) (Batch, error) {
	made := a.now().UTC()
	snapshot := &rpc.BatchSnapshotResponse{
		BatchId:                d.ID[:],
		BatchTxId:              d.Tx.TxHash().String(),
		BatchTx:                txBytes(d.Tx),
		BatchTxFeeRateSatPerKw: uint64(a.terms.BatchFee),
		CreationTimestampNs:    uint64(made.UnixNano()),
		MatchedMarkets:         map[uint32]*rpc.MatchedMarketSnapshot{},
	}
	if n := len(s.Batches); n > 0 {
		snapshot.PrevBatchId = s.Batches[n-1].ID[:]
	}
	for _, m := range d.Clearing.Matches {
		blocks := m.Bid.duration()
		price := uint32(d.Clearing.Prices[blocks])
		market := snapshot.MatchedMarkets[blocks]
		if market == nil {
			market = &rpc.MatchedMarketSnapshot{ClearingPriceRate: price}
			snapshot.MatchedMarkets[blocks] = market
		}
		market.MatchedOrders = append(market.MatchedOrders,
			&rpc.MatchedOrderSnapshot{
				Ask: &rpc.AskSnapshot{
					Version:             m.Ask.askWords.Version,
					LeaseDurationBlocks: blocks,
					RateFixed:           m.Ask.kit().FixedRate,
					ChanType:            m.Ask.details().ChannelType,
				},
				Bid: &rpc.BidSnapshot{
					Version:             m.Bid.bidWords.Version,
					LeaseDurationBlocks: blocks,
					RateFixed:           m.Bid.kit().FixedRate,
					ChanType:            m.Bid.details().ChannelType,
				},
				MatchingRate:     price,
				TotalSatsCleared: uint64(m.Units.ToSatoshis()),
				UnitsMatched:     uint32(m.Units),
			})
	}
	raw, err := proto.Marshal(snapshot)
	if err != nil {
		return Batch{}, err
	}
	signers := map[string]bool{}
	for stream := range d.Streams {
		if stream.identity != "" && !stream.sidecar {
			signers[stream.identity] = true
		}
	}
	return Batch{
		ID: d.ID, Txid: d.Tx.TxHash(), Tx: txBytes(d.Tx), Height: d.Height,
		Made: made, Snapshot: raw,
		Accounts: slices.Collect(maps.Keys(d.Legs)),
		Signers:  slices.Collect(maps.Keys(signers)),
	}, nil
}
