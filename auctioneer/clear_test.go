package main

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/sidecar"
	"github.com/lightninglabs/pool/terms"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
	"pgregory.net/rapid"
)

// The books here are made of few traders, nodes and rates, so that orders often
// collide. Half of them have no other wishes, so that many are matched; in the
// other half most of what the rules forbid happens by itself.

func key(n byte) Key { return Key{2, n} }

func anOrder(sequence uint64, isAsk bool, trader, node byte, rate uint32,
	units, minimum order.SupplyUnit) Order {

	var nonce order.Nonce
	binary.BigEndian.PutUint64(nonce[:], sequence)
	kit := *order.NewKit(nonce)
	kit.Version = order.VersionChannelType
	kit.FixedRate = rate
	kit.Units, kit.UnitsUnfulfilled, kit.MinUnitsMatch = units, units, minimum
	kit.Amt = units.ToSatoshis()
	kit.LeaseDuration = 2016
	kit.MaxBatchFeeRate = 5000
	kit.AcctKey = key(trader)
	o := Order{
		Nonce: Nonce(nonce), IsAsk: isAsk, Sequence: sequence,
		Unfilled: units, State: rpc.OrderState_ORDER_SUBMITTED,
		node: key(100 + node), channelKey: key(byte(sequence)),
	}
	if isAsk {
		o.ask = &order.Ask{Kit: kit}
	} else {
		o.bid = &order.Bid{Kit: kit}
	}
	return o
}

func aBook(orders ...Order) Book {
	book := Book{
		Orders: orders, Purses: map[Key]Purse{},
		Recipients: map[Key]order.BatchVersion{}, Apart: map[Pair]bool{},
		BatchFee: 500, Fees: terms.NewLinearFeeSchedule(1, 1000),
		Tier: tierOf,
	}
	for _, o := range orders {
		book.Purses[o.trader()] = Purse{
			Value: 100_000_000, Version: account.VersionMuSig2V100RC2,
			Speaks: order.LatestBatchVersion,
		}
	}
	return book
}

func drawBook(t *rapid.T) Book {
	var orders []Order
	picky := rapid.Bool().Draw(t, "picky")
	for i := range rapid.IntRange(0, 14).Draw(t, "orders") {
		units := order.SupplyUnit(rapid.IntRange(1, 30).Draw(t, "units"))
		o := anOrder(uint64(i+1), rapid.Bool().Draw(t, "ask"),
			rapid.ByteRange(1, 5).Draw(t, "trader"),
			rapid.ByteRange(1, 4).Draw(t, "node"),
			rapid.Uint32Range(1, 6).Draw(t, "rate")*1000, units,
			order.SupplyUnit(rapid.IntRange(1, int(units)).Draw(t, "minimum")))
		orders = append(orders, o)
		if !picky {
			continue
		}
		kit := o.kit()
		kit.LeaseDuration = rapid.SampledFrom([]uint32{2016, 4032}).Draw(t,
			"blocks")
		kit.ChannelType = order.ChannelType(rapid.IntRange(0, 2).Draw(t, "type"))
		kit.MaxBatchFeeRate = rapid.SampledFrom(
			[]chainfee.SatPerKWeight{253, 500, 5000}).Draw(t, "fee")
		if o.IsAsk {
			o.ask.AnnouncementConstraints = order.ChannelAnnouncementConstraints(
				rapid.IntRange(0, 2).Draw(t, "announced"))
			o.ask.ConfirmationConstraints = order.ChannelConfirmationConstraints(
				rapid.IntRange(0, 2).Draw(t, "confirmed"))
			kit.Version = order.Version(rapid.IntRange(3, 5).Draw(t, "version"))
		} else {
			o.bid.UnannouncedChannel = rapid.Bool().Draw(t, "unannounced")
			o.bid.ZeroConfChannel = rapid.Bool().Draw(t, "zeroconf")
			if rapid.Bool().Draw(t, "start balance") {
				o.bid.SelfChanBalance = 50_000
				kit.MinUnitsMatch = units
			}
			if rapid.Bool().Draw(t, "sidecar") {
				o.bid.SidecarTicket = &sidecar.Ticket{}
				kit.MinUnitsMatch = units
			}
		}
	}
	book := aBook(orders...)
	for trader, purse := range book.Purses {
		purse.Value = btcutil.Amount(
			rapid.IntRange(100_000, 4_000_000).Draw(t, "value"))
		purse.Version = account.Version(rapid.IntRange(0, 2).Draw(t, "account"))
		purse.Speaks = rapid.SampledFrom(
			[]order.BatchVersion{10, 42, 58}).Draw(t, "speaks")
		book.Purses[trader] = purse
		if rapid.IntRange(0, 9).Draw(t, "offline") == 0 {
			delete(book.Purses, trader)
		}
	}
	for _, o := range orders {
		if o.sidecar() && rapid.Bool().Draw(t, "recipient") {
			book.Recipients[o.channelKey] = 58
		}
	}
	return book
}

func TestEveryMatchObeysEveryRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := drawBook(t)
		clearing := book.clear()
		used := map[Nonce]order.SupplyUnit{}
		lowest := map[uint32]order.FixedRatePremium{}
		for _, m := range clearing.Matches {
			blocks := m.Bid.duration()
			price := clearing.Prices[blocks]
			if reason := book.refuse(m.Ask, m.Bid); reason != "" {
				t.Fatalf("%s and %s were matched: %s", m.Ask, m.Bid, reason)
			}
			if m.Ask.rate() > price || m.Bid.rate() < price {
				t.Fatalf("%d <= %d <= %d does not hold", m.Ask.rate(), price,
					m.Bid.rate())
			}
			if m.Units < m.Ask.kit().MinUnitsMatch ||
				m.Units < m.Bid.kit().MinUnitsMatch {

				t.Fatalf("a channel of %d units is under a minimum", m.Units)
			}
			if m.Bid.bid.SelfChanBalance > 0 && m.Units != m.Bid.kit().Units {
				t.Fatalf("a bid with a start balance was filled in parts")
			}
			used[m.Ask.Nonce] += m.Units
			used[m.Bid.Nonce] += m.Units
			if known, ok := lowest[blocks]; !ok || m.Bid.rate() < known {
				lowest[blocks] = m.Bid.rate()
			}
		}
		for _, o := range book.Orders {
			if used[o.Nonce] > o.Unfilled {
				t.Fatalf("%s has %d units and %d were matched", o, o.Unfilled,
					used[o.Nonce])
			}
		}
		for blocks, price := range clearing.Prices {
			if lowest[blocks] != price {
				t.Fatalf("the price is %d, the lowest bid %d", price,
					lowest[blocks])
			}
		}
	})
}

func TestSomethingIsMatchedWheneverAnythingCouldBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := drawBook(t)
		if len(book.clear().Matches) > 0 {
			return
		}
		for _, ask := range book.Orders {
			for _, bid := range book.Orders {
				if !ask.IsAsk || bid.IsAsk || book.refuse(ask, bid) != "" {
					continue
				}
				units := fill(ask, bid, ask.Unfilled, bid.Unfilled)
				if units == 0 {
					continue
				}
				giving, taking := book.worstCase(Match{ask, bid, units})
				if book.Purses[ask.trader()].Value >= giving &&
					book.Purses[bid.trader()].Value >= taking {

					t.Fatalf("%s and %s fit, and nothing was matched", ask, bid)
				}
			}
		}
	})
}

func TestTheOrderInWhichABookIsWrittenDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := drawBook(t)
		first := book.clear()
		book.Orders = rapid.Permutation(book.Orders).Draw(t, "shuffled")
		if second := book.clear(); !reflect.DeepEqual(first, second) {
			t.Fatalf("%v became %v", first, second)
		}
	})
}

func TestNoAccountPaysMoreThanItHasAndNoSatoshiIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := drawBook(t)
		clearing := book.clear()
		tallies := tally(clearing, book.Purses, book.Fees, book.BatchFee)
		var before, after, channels, fees btcutil.Amount
		for trader, one := range tallies {
			if one.EndingBalance < 0 {
				t.Fatalf("account %s ends at %d", trader, one.EndingBalance)
			}
			before += book.Purses[trader].Value
			after += one.EndingBalance
			fees += one.TotalExecutionFeesPaid + order.EstimateTraderFee(
				one.NumChansCreated, book.BatchFee,
				book.Purses[trader].Version)
		}
		for _, m := range clearing.Matches {
			channels += m.Units.ToSatoshis() + m.Bid.bid.SelfChanBalance
		}
		if before != after+channels+fees {
			t.Fatalf("%d became %d + %d + %d", before, after, channels, fees)
		}
	})
}

func TestRulesRefuse(t *testing.T) {
	private := func(o *Order) { o.bid.UnannouncedChannel = true }
	instant := func(o *Order) { o.bid.ZeroConfChannel = true }
	forAnother := func(o *Order) { o.bid.SidecarTicket = &sidecar.Ticket{} }
	for reason, spoil := range map[string]func(*Book, *Order, *Order){
		"the leases differ in length": func(_ *Book, ask, _ *Order) {
			ask.kit().LeaseDuration = 4032
		},
		"the orders are for different markets": func(_ *Book, _, bid *Order) {
			bid.kit().AuctionType = order.BTCOutboundLiquidity
		},
		"the ask is dearer than the bid": func(_ *Book, ask, _ *Order) {
			ask.kit().FixedRate = 5001
		},
		"both orders are of the same trader or node": func(_ *Book, ask,
			bid *Order) {

			ask.node = bid.node
		},
		"the ask does not want the bid's node": func(_ *Book, ask,
			bid *Order) {

			ask.kit().NotAllowedNodeIDs = [][33]byte{bid.node}
		},
		"the bid does not want the ask's node": func(_ *Book, _, bid *Order) {
			bid.kit().AllowedNodeIDs = [][33]byte{key(77)}
		},
		"the ask's node is not good enough for the bid": func(b *Book, _,
			_ *Order) {

			b.Tier = func(Key) order.NodeTier { return order.NodeTier0 }
		},
		"the batch is dearer than the ask allows": func(_ *Book, ask,
			_ *Order) {

			ask.kit().MaxBatchFeeRate = 499
		},
		"the batch is dearer than the bid allows": func(_ *Book, _,
			bid *Order) {

			bid.kit().MaxBatchFeeRate = 499
		},
		"one wants the channel announced and the other does not": func(
			_ *Book, ask, bid *Order) {

			ask.ask.AnnouncementConstraints = order.OnlyAnnounced
			private(bid)
		},
		"one wants a channel without confirmations, the other not": func(
			_ *Book, ask, bid *Order) {

			ask.ask.ConfirmationConstraints = order.OnlyConfirmed
			instant(bid)
		},
		"the ask does not take bids with a start balance": func(_ *Book, ask,
			bid *Order) {

			ask.kit().Version = order.VersionSelfChanBalance
			bid.bid.SelfChanBalance = 1
		},
		"the orders want different types of channels": func(b *Book, _,
			bid *Order) {

			forAnother(bid)
			b.Recipients[bid.channelKey] = 58
			bid.kit().ChannelType = order.ChannelTypeScriptEnforced
		},
		"the asker is not ready": func(b *Book, ask, _ *Order) {
			delete(b.Purses, ask.trader())
		},
		"the bidder is not ready": func(b *Book, _, bid *Order) {
			delete(b.Purses, bid.trader())
		},
		"the recipient is not connected": func(_ *Book, _, bid *Order) {
			forAnother(bid)
		},
		"a node cannot open unannounced channels": func(b *Book, ask,
			bid *Order) {

			private(bid)
			purse := b.Purses[ask.trader()]
			purse.Speaks = 1
			b.Purses[ask.trader()] = purse
		},
		"a node cannot open channels without confirmations": func(b *Book, _,
			bid *Order) {

			instant(bid)
			forAnother(bid)
			b.Recipients[bid.channelKey] = 42
		},
		"the pair spoiled a batch and is kept apart for a while": func(
			b *Book, ask, bid *Order) {

			b.Apart[Pair{ask.Nonce, bid.Nonce}] = true
		},
	} {
		t.Run(reason, func(t *testing.T) {
			ask := anOrder(1, true, 1, 1, 5000, 10, 1)
			bid := anOrder(2, false, 2, 2, 5000, 10, 1)
			book := aBook(ask, bid)
			if got := book.refuse(ask, bid); got != "" {
				t.Fatalf("the pair does not fit to begin with: %s", got)
			}
			spoil(&book, &ask, &bid)
			if got := book.refuse(ask, bid); got != reason {
				t.Fatalf("got %q", got)
			}
		})
	}
}

func TestTaprootChannelsNeedBothSidesToAsk(t *testing.T) {
	for _, kinds := range [][2]order.ChannelType{
		{order.ChannelTypeSimpleTaproot, order.ChannelTypePeerDependent},
		{order.ChannelTypeScriptEnforced, order.ChannelTypeSimpleTaproot},
	} {
		ask := anOrder(1, true, 1, 1, 5000, 10, 1)
		bid := anOrder(2, false, 2, 2, 5000, 10, 1)
		ask.kit().ChannelType, bid.kit().ChannelType = kinds[0], kinds[1]
		if sameChannelType(ask, bid) {
			t.Fatalf("%v fit", kinds)
		}
	}
}

func TestAnAskAboveThePriceWaitsForTheNextBatch(t *testing.T) {
	cheap := anOrder(1, true, 1, 1, 1000, 10, 10)
	dear := anOrder(2, true, 2, 2, 4000, 10, 10)
	low := anOrder(3, false, 3, 3, 2000, 10, 10)
	high := anOrder(4, false, 4, 4, 5000, 10, 10)
	// The best bid gets the best ask; the low bid cannot pay the dear one.
	clearing := aBook(cheap, dear, low, high).clear()
	if len(clearing.Matches) != 1 || clearing.Prices[2016] != 5000 ||
		clearing.Matches[0].Bid.Nonce != high.Nonce ||
		clearing.Matches[0].Ask.Nonce != cheap.Nonce {

		t.Fatalf("%v at %v", clearing.Matches, clearing.Prices)
	}
	// The cheap ask does not want the best bid, which takes the dear one. At
	// the low bid's price that one falls out.
	cheap.kit().NotAllowedNodeIDs = [][33]byte{high.node}
	clearing = aBook(cheap, dear, low, high).clear()
	if len(clearing.Matches) != 1 || clearing.Prices[2016] != 2000 ||
		clearing.Matches[0].Bid.Nonce != low.Nonce {

		t.Fatalf("%v at %v", clearing.Matches, clearing.Prices)
	}
}

func TestTheEarlierOfTwoEqualBidsIsServed(t *testing.T) {
	ask := anOrder(1, true, 1, 1, 1000, 10, 10)
	later := anOrder(3, false, 3, 3, 2000, 10, 10)
	earlier := anOrder(2, false, 2, 2, 2000, 10, 10)
	clearing := aBook(later, ask, earlier).clear()
	if len(clearing.Matches) != 1 ||
		clearing.Matches[0].Bid.Nonce != earlier.Nonce {

		t.Fatalf("%v", clearing.Matches)
	}
}

func TestAPoorBidderDoesNotHoldUpTheOthers(t *testing.T) {
	ask := anOrder(1, true, 1, 1, 1000, 20, 1)
	poor := anOrder(2, false, 2, 2, 9000, 10, 10)
	rich := anOrder(3, false, 3, 3, 8000, 10, 10)
	book := aBook(ask, poor, rich)
	book.Purses[poor.trader()] = Purse{Value: 100, Speaks: 58}
	clearing := book.clear()
	if len(clearing.Matches) != 1 ||
		clearing.Matches[0].Bid.Nonce != rich.Nonce {

		t.Fatalf("%v", clearing.Matches)
	}
}

func TestABidSaysWhyItWaits(t *testing.T) {
	dear := anOrder(1, true, 1, 1, 9000, 10, 1)
	large := anOrder(2, true, 2, 2, 1000, 50, 20)
	bid := anOrder(3, false, 3, 3, 5000, 10, 10)
	got := aBook(dear, large, bid).waiting(bid)
	want := []string{
		"the ask is dearer than the bid", "the orders' sizes do not meet",
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q", got)
	}
	if got := aBook(bid).waiting(bid); len(got) != 1 {
		t.Fatalf("%q", got)
	}
}
