package main

import (
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/terms"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
)

// count adds one match to the tallies of its two accounts, each at a price of
// its own. In a batch both prices are the same.
func count(asker, bidder *order.AccountTally, m Match, fees terms.FeeSchedule,
	askerPrice, bidderPrice order.FixedRatePremium) {

	amount := m.Units.ToSatoshis()
	blocks := m.Bid.duration()
	asker.CalcMakerDelta(fees, askerPrice, amount, amount, blocks)
	bidder.CalcTakerDelta(fees, bidderPrice, m.Bid.bid.SelfChanBalance, amount,
		blocks)
	asker.NumChansCreated++
	bidder.NumChansCreated++
}

// tally returns what a clearing leaves in each account, to the satoshi that its
// trader will compute too.
func tally(c Clearing, purses map[Key]Purse, fees terms.FeeSchedule,
	batchFee chainfee.SatPerKWeight) map[Key]*order.AccountTally {

	tallies := map[Key]*order.AccountTally{}
	of := func(trader Key) *order.AccountTally {
		if tallies[trader] == nil {
			tallies[trader] = &order.AccountTally{
				EndingBalance: purses[trader].Value,
			}
		}
		return tallies[trader]
	}
	for _, m := range c.Matches {
		price := c.Prices[m.Bid.duration()]
		count(of(m.Ask.trader()), of(m.Bid.trader()), m, fees, price, price)
	}
	for trader, t := range tallies {
		t.ChainFees(batchFee, purses[trader].Version)
	}
	return tallies
}

// renewed returns when an account expires after a batch. Only traders that know
// of renewals get one, and none is ever shortened.
func renewed(a Account, speaks order.BatchVersion, height,
	extension uint32) uint32 {

	if extension == 0 || !speaks.SupportsAccountExtension() {
		return a.Expiry
	}
	return max(a.Expiry, height+extension)
}
