package main

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
)

// words returns an ask as poold sends it, not signed yet.
func (s *sale) words() *rpc.ServerAsk {
	node := s.asker.lnd.node()
	return &rpc.ServerAsk{
		Details: &rpc.ServerOrder{
			TraderKey: s.selling.TraderKey.PubKey.SerializeCompressed(),
			RateFixed: 1234, Amt: 500_000, MinChanAmt: 100_000,
			OrderNonce: []byte("a nonce has thirty-two bytes: ok"),
			NodePub:    node[:], MultiSigKey: node[:],
			NodeAddr: []*rpc.NodeAddress{
				{Network: "tcp", Addr: "127.0.0.1:9735"},
			},
			MaxBatchFeeRateSatPerKw: 1000,
		},
		LeaseDurationBlocks: 2016, Version: uint32(order.VersionChannelType),
	}
}

func (s *sale) signs(ask *rpc.ServerAsk) *rpc.ServerSubmitOrderRequest {
	if o, err := orderFromAsk(ask); err == nil {
		if digest, err := o.native().Digest(); err == nil {
			hash := sha256.Sum256(digest[:])
			key := s.asker.lnd.private(s.selling.TraderKey.KeyLocator)
			ask.Details.OrderSig = ecdsa.Sign(key, hash[:]).Serialize()
		}
	}
	return &rpc.ServerSubmitOrderRequest{
		Details: &rpc.ServerSubmitOrderRequest_Ask{Ask: ask},
	}
}

func TestOrdersThatCannotBeHadAreRefusedWithAReason(t *testing.T) {
	s := newSale(t, 2, 2)
	ctx := context.Background()
	for want, spoil := range map[string]func(*rpc.ServerAsk){
		"inbound": func(a *rpc.ServerAsk) {
			a.Details.AuctionType =
				rpc.AuctionType_AUCTION_TYPE_BTC_OUTBOUND_LIQUIDITY
		},
		"not a multiple": func(a *rpc.ServerAsk) { a.Details.Amt = 550_000 },
		"smallest channel is not": func(a *rpc.ServerAsk) {
			a.Details.MinChanAmt = 600_000
		},
		"part of the amount": func(a *rpc.ServerAsk) {
			a.Details.MinChanAmt = 0
		},
		"leases last": func(a *rpc.ServerAsk) { a.LeaseDurationBlocks = 144 },
		"batch fee rate": func(a *rpc.ServerAsk) {
			a.Details.MaxBatchFeeRateSatPerKw = 252
		},
		"either allowed or excluded": func(a *rpc.ServerAsk) {
			node := s.bidder.lnd.node()
			a.Details.AllowedNodeIds = [][]byte{node[:]}
			a.Details.NotAllowedNodeIds = [][]byte{node[:]}
		},
		"unknown version": func(a *rpc.ServerAsk) { a.Version = 99 },
		"account is not known": func(a *rpc.ServerAsk) {
			// Signed by its own key, but never reserved.
			s.asker.lnd.mu.Lock()
			defer s.asker.lnd.mu.Unlock()
			at := s.selling.TraderKey.KeyLocator
			at.Index = 99
			a.Details.TraderKey = s.asker.lnd.private(
				at).PubKey().SerializeCompressed()
		},
	} {
		t.Run(want, func(t *testing.T) {
			ask := s.words()
			spoil(ask)
			request := s.signs(ask)
			if want == "account is not known" {
				o, err := orderFromAsk(ask)
				s.must(err)
				digest, err := o.native().Digest()
				s.must(err)
				hash := sha256.Sum256(digest[:])
				at := s.selling.TraderKey.KeyLocator
				at.Index = 99
				ask.Details.OrderSig = ecdsa.Sign(s.asker.lnd.private(at),
					hash[:]).Serialize()
			}
			answer, err := s.auction.SubmitOrder(ctx, request)
			s.must(err)
			if got := answer.GetInvalidOrder().GetFailString(); !strings.
				Contains(got, want) {

				t.Fatalf("%q", got)
			}
		})
	}
	for name, malformed := range map[string]*rpc.ServerSubmitOrderRequest{
		"nothing":      {},
		"no details":   s.signs(&rpc.ServerAsk{}),
		"short nonce":  {Details: &rpc.ServerSubmitOrderRequest_Ask{}},
		"node no key":  s.signs(&rpc.ServerAsk{Details: &rpc.ServerOrder{}}),
		"broken bid":   {Details: &rpc.ServerSubmitOrderRequest_Bid{}},
		"bid no nonce": {Details: &rpc.ServerSubmitOrderRequest_Bid{Bid: &rpc.ServerBid{}}},
	} {
		if _, err := s.auction.SubmitOrder(ctx, malformed); err == nil {
			t.Fatalf("%s was accepted", name)
		}
	}
}

func TestASignatureCoversTheWholeOrder(t *testing.T) {
	s := newSale(t, 2, 2)
	ctx := context.Background()
	for name, change := range map[string]func(*rpc.ServerAsk){
		"rate":     func(a *rpc.ServerAsk) { a.Details.RateFixed++ },
		"amount":   func(a *rpc.ServerAsk) { a.Details.Amt += 100_000 },
		"minimum":  func(a *rpc.ServerAsk) { a.Details.MinChanAmt += 100_000 },
		"duration": func(a *rpc.ServerAsk) { a.LeaseDurationBlocks = 4032 },
		"type": func(a *rpc.ServerAsk) {
			a.Details.ChannelType = rpc.OrderChannelType(2)
		},
		"none":    func(a *rpc.ServerAsk) { a.Details.OrderSig = nil },
		"garbage": func(a *rpc.ServerAsk) { a.Details.OrderSig[5]++ },
	} {
		request := s.signs(s.words())
		change(request.GetAsk())
		answer, err := s.auction.SubmitOrder(ctx, request)
		if err == nil && answer.GetInvalidOrder() == nil {
			t.Fatalf("%s: a changed order was accepted", name)
		}
	}
	// Not changed it is accepted, and the second time as well, as one order.
	before := len(s.auction.store.View().Orders)
	for range 2 {
		answer, err := s.auction.SubmitOrder(ctx, s.signs(s.words()))
		s.must(err)
		if !answer.GetAccepted() {
			t.Fatalf("%v", answer)
		}
	}
	if after := len(s.auction.store.View().Orders); after != before+1 {
		t.Fatalf("%d became %d", before, after)
	}
	// Another order under the same name is not.
	other := s.words()
	other.Details.RateFixed = 4321
	answer, err := s.auction.SubmitOrder(ctx, s.signs(other))
	s.must(err)
	if answer.GetInvalidOrder() == nil {
		t.Fatal("an order took another's place")
	}
}

func TestWhatIsNotKnownIsToldInTheWordsThatPooldLooksFor(t *testing.T) {
	s := newSale(t, 2, 2)
	ctx := context.Background()
	_, err := s.auction.OrderState(ctx, &rpc.ServerOrderStateRequest{
		OrderNonce: make([]byte, 32),
	})
	if err == nil || !strings.Contains(err.Error(), "no order found") {
		t.Fatalf("%v", err)
	}
	_, err = s.auction.CancelOrder(ctx, &rpc.ServerCancelOrderRequest{})
	if err == nil || !strings.Contains(err.Error(), "no order found") {
		t.Fatalf("%v", err)
	}
	for _, id := range [][]byte{nil, make([]byte, 33), {2, 3}} {
		_, err := s.auction.BatchSnapshot(ctx, &rpc.BatchSnapshotRequest{
			BatchId: id,
		})
		if err == nil || !strings.Contains(err.Error(),
			"batch snapshot not found") {

			t.Fatalf("%v", err)
		}
	}
}

func TestBatchesAreToldNewestFirst(t *testing.T) {
	s := newSale(t, 2, 2)
	ctx := context.Background()
	first := s.tick()
	s.finalizedBoth()
	s.block()
	s.trades()
	all, err := s.auction.BatchSnapshots(ctx, &rpc.BatchSnapshotsRequest{
		NumBatchesBack: 10,
	})
	s.must(err)
	if len(all.Batches) != 2 ||
		all.Batches[1].BatchTxId != first.Txid.String() ||
		string(all.Batches[0].PrevBatchId) != string(first.ID[:]) {

		t.Fatalf("%v", all)
	}
	one, err := s.auction.BatchSnapshots(ctx, &rpc.BatchSnapshotsRequest{
		StartBatchId: first.ID[:], NumBatchesBack: 10,
	})
	s.must(err)
	if len(one.Batches) != 1 || one.Batches[0].MatchedMarkets[2016].
		MatchedOrders[0].TotalSatsCleared != 1_000_000 {

		t.Fatalf("%v", one)
	}
	newest, err := s.auction.BatchSnapshot(ctx, &rpc.BatchSnapshotRequest{
		BatchId: make([]byte, 33),
	})
	s.must(err)
	if newest.BatchTxId != all.Batches[0].BatchTxId {
		t.Fatalf("%v", newest)
	}
}

func TestTheMarketIsCountedAndNodesAreRated(t *testing.T) {
	s := newSale(t, 2, 2)
	ctx := context.Background()
	info, err := s.auction.MarketInfo(ctx, nil)
	s.must(err)
	open := info.Markets[2016]
	if open.NumAsks[0].Value != 1 || open.NumBids[0].Value != 1 ||
		open.AskOpenInterestUnits[0].Value != 50 ||
		open.BidOpenInterestUnits[0].Value != 10 {

		t.Fatalf("%v", open)
	}
	node := s.asker.lnd.node()
	rating, err := s.auction.NodeRating(ctx, &rpc.ServerNodeRatingRequest{
		NodePubkeys: [][]byte{node[:]},
	})
	s.must(err)
	if rating.NodeRatings[0].NodeTier != rpc.NodeTier_TIER_1 {
		t.Fatalf("%v", rating)
	}
}
