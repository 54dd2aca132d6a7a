package main

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/lightninglabs/pool/order"
)

// Match is an ask and a bid that become one channel.
type Match struct {
	Ask, Bid Order
	Units    order.SupplyUnit
}

// Clearing is who is matched, and the one price of each length of lease.
type Clearing struct {
	Matches []Match
	Prices  map[uint32]order.FixedRatePremium
}

// clear matches the orders of a book.
//
//  1. The best orders go first: cheap asks, dear bids, and the earlier of equals.
//  2. A match is as large as both have left, never under either's minimum, and
//     only made when both accounts could pay for it at their own price.
//  3. All leases of one length have one price, the lowest bid that was matched.
//     Matches whose ask is dearer than that wait for the next batch.
func (b Book) clear() Clearing {
	clearing := Clearing{Prices: map[uint32]order.FixedRatePremium{}}
	budget := map[Key]btcutil.Amount{}
	for key, purse := range b.Purses {
		budget[key] = purse.Value
	}
	for _, blocks := range b.durations() {
		matched := b.pair(blocks, budget)
		if len(matched) == 0 {
			continue
		}
		price := matched[0].Bid.rate()
		for _, match := range matched {
			price = min(price, match.Bid.rate())
		}
		for _, match := range matched {
			if match.Ask.rate() <= price {
				clearing.Matches = append(clearing.Matches, match)
			}
		}
		clearing.Prices[blocks] = price
	}
	return clearing
}

// pair matches the orders of one length of lease, greedily, within the budgets.
func (b Book) pair(blocks uint32, budget map[Key]btcutil.Amount) []Match {
	asks, bids := b.side(blocks, true), b.side(blocks, false)
	left := map[Nonce]order.SupplyUnit{}
	for _, o := range append(slices.Clone(asks), bids...) {
		left[o.Nonce] = o.Unfilled
	}
	var matched []Match
	for _, bid := range bids {
		for _, ask := range asks {
			units := fill(ask, bid, left[ask.Nonce], left[bid.Nonce])
			if units == 0 || b.refuse(ask, bid) != "" {
				continue
			}
			match := Match{Ask: ask, Bid: bid, Units: units}
			giving, taking := b.worstCase(match)
			if budget[ask.trader()] < giving || budget[bid.trader()] < taking {
				continue
			}
			budget[ask.trader()] -= giving
			budget[bid.trader()] -= taking
			left[ask.Nonce] -= units
			left[bid.Nonce] -= units
			matched = append(matched, match)
		}
	}
	return matched
}

// fill returns how much of two orders is matched when that much is left of
// them: all they have in common, or nothing when it is too little for either.
func fill(ask, bid Order, leftOfAsk,
	leftOfBid order.SupplyUnit) order.SupplyUnit {

	units := min(leftOfAsk, leftOfBid)
	if units < max(ask.kit().MinUnitsMatch, bid.kit().MinUnitsMatch) {
		return 0
	}
	return units
}

// worstCase returns what a match can cost its two accounts at most: no premium
// above what the ask wants, the whole premium that the bid offers, and a miner's
// fee as if nothing else were matched.
func (b Book) worstCase(m Match) (giving, taking btcutil.Amount) {
	var asker, bidder order.AccountTally
	count(&asker, &bidder, m, b.Fees, m.Ask.rate(), m.Bid.rate())
	asker.ChainFees(b.BatchFee, b.Purses[m.Ask.trader()].Version)
	bidder.ChainFees(b.BatchFee, b.Purses[m.Bid.trader()].Version)
	return -asker.EndingBalance, -bidder.EndingBalance
}

// side returns the open asks or bids of one length of lease, the best first.
func (b Book) side(blocks uint32, asks bool) []Order {
	var found []Order
	for _, o := range b.Orders {
		if o.open() && o.IsAsk == asks && o.duration() == blocks {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(x, y Order) int {
		better := cmp.Compare(x.rate(), y.rate())
		if !asks {
			better = -better
		}
		return cmp.Or(better, cmp.Compare(x.Sequence, y.Sequence))
	})
	return found
}

func (b Book) durations() []uint32 {
	var durations []uint32
	for _, o := range b.Orders {
		durations = append(durations, o.duration())
	}
	slices.Sort(durations)
	return slices.Compact(durations)
}
