package main

import (
	"context"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
)

// tierOf rates a node. Here all are equally good: there are no strangers on a
// private chain.
func tierOf(Key) order.NodeTier { return order.NodeTier1 }

// NodeRating tells how good nodes are.
func (a *Auction) NodeRating(_ context.Context,
	r *rpc.ServerNodeRatingRequest) (*rpc.ServerNodeRatingResponse, error) {

	answer := &rpc.ServerNodeRatingResponse{}
	for _, raw := range r.NodePubkeys {
		node, err := parseKey(raw)
		if err != nil {
			return nil, invalid("node key: %v", err)
		}
		answer.NodeRatings = append(answer.NodeRatings, &rpc.NodeRating{
			NodePubkey: raw, NodeTier: rpc.NodeTier(tierOf(node)),
		})
	}
	return answer, nil
}

// MarketInfo counts what is on offer, for each length of lease.
func (a *Auction) MarketInfo(context.Context, *rpc.MarketInfoRequest) (
	*rpc.MarketInfoResponse, error) {

	answer := &rpc.MarketInfoResponse{Markets: map[uint32]*rpc.MarketInfo{}}
	for _, blocks := range a.terms.Durations {
		var orders, units [2]uint32 // bids, asks
		for _, o := range a.store.View().Orders {
			if !o.open() || o.duration() != blocks {
				continue
			}
			side := 0
			if o.IsAsk {
				side = 1
			}
			orders[side]++
			units[side] += uint32(o.Unfilled)
		}
		answer.Markets[blocks] = &rpc.MarketInfo{
			NumBids:              allTiers(orders[0]),
			NumAsks:              allTiers(orders[1]),
			BidOpenInterestUnits: allTiers(units[0]),
			AskOpenInterestUnits: allTiers(units[1]),
		}
	}
	return answer, nil
}

func allTiers(value uint32) []*rpc.MarketInfo_TierValue {
	return []*rpc.MarketInfo_TierValue{{
		Tier: rpc.NodeTier(order.NodeTier1), Value: value,
	}}
}
