package main

import (
	"context"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
)

// prepare shows every stream its part of the batch, and returns when all have
// accepted it.
func (a *Auction) prepare(ctx context.Context, d *Draft) error {
	questions := map[*Stream]*rpc.ServerAuctionMessage{}
	for stream := range d.Streams {
		questions[stream] = &rpc.ServerAuctionMessage{
			Msg: &rpc.ServerAuctionMessage_Prepare{
				Prepare: a.part(d, stream),
			},
		}
	}
	_, err := a.round(ctx, "prepare", d, questions, a.patience.Accept,
		func(m *rpc.ClientAuctionMessage) bool { return m.GetAccept() != nil })
	return err
}

// part returns the batch as one stream sees it: its own orders, each with the
// full orders of the other side, and its own accounts.
func (a *Auction) part(d *Draft, stream *Stream) *rpc.OrderMatchPrepare {
	part := &rpc.OrderMatchPrepare{
		ExecutionFee:     a.terms.wireFees(),
		BatchTransaction: txBytes(d.Tx),
		FeeRateSatPerKw:  uint64(a.terms.BatchFee),
		BatchId:          d.ID[:],
		BatchHeightHint:  d.Height,
		// A trader wants exactly the version that it announced.
		BatchVersion:   uint32(d.Streams[stream]),
		MatchedMarkets: map[uint32]*rpc.MatchedMarket{},
	}
	for _, m := range d.Clearing.Matches {
		ask, bid := &rpc.MatchedAsk{
			Ask: m.Ask.askWords, UnitsFilled: uint32(m.Units),
		}, &rpc.MatchedBid{
			Bid: m.Bid.bidWords, UnitsFilled: uint32(m.Units),
		}
		blocks := m.Bid.duration()
		bidKey := m.Bid.trader()
		if stream.sidecar {
			bidKey = m.Bid.channelKey
		} else if a.crowd.proved(stream, m.Ask.trader()) {
			own := orderIn(part, blocks, d, m.Ask)
			own.MatchedBids = append(own.MatchedBids, bid)
		}
		if a.crowd.proved(stream, bidKey) {
			own := orderIn(part, blocks, d, m.Bid)
			own.MatchedAsks = append(own.MatchedAsks, ask)
		}
	}
	if stream.sidecar {
		return part // a recipient pays nothing and has no account
	}
	for trader, leg := range d.Legs {
		if !a.crowd.proved(stream, trader) {
			continue
		}
		diff := &rpc.AccountDiff{
			EndingBalance: uint64(leg.Tally.EndingBalance),
			EndingState:   leg.state(),
			OutpointIndex: leg.Output,
			TraderKey:     leg.Before.Trader[:],
		}
		if leg.Expiry != leg.Before.Expiry {
			diff.NewExpiry = leg.Expiry
		}
		part.ChargedAccounts = append(part.ChargedAccounts, diff)
	}
	return part
}

// orderIn returns the place of an order in a part, and makes it if need be.
func orderIn(part *rpc.OrderMatchPrepare, blocks uint32, d *Draft,
	o Order) *rpc.MatchedOrder {

	market := part.MatchedMarkets[blocks]
	if market == nil {
		market = &rpc.MatchedMarket{
			MatchedOrders:     map[string]*rpc.MatchedOrder{},
			ClearingPriceRate: uint32(d.Clearing.Prices[blocks]),
		}
		part.MatchedMarkets[blocks] = market
	}
	if market.MatchedOrders[o.Nonce.Hex()] == nil {
		market.MatchedOrders[o.Nonce.Hex()] = &rpc.MatchedOrder{}
	}
	return market.MatchedOrders[o.Nonce.Hex()]
}
