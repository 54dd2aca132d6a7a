package main

import (
	"github.com/btcsuite/btcd/btcutil"
	"github.com/lightninglabs/pool/account"
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/terms"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
)

// Purse is an account that can take part in a batch now: open, confirmed, not
// expired, its trader connected.
type Purse struct {
	Value   btcutil.Amount
	Version account.Version
	Speaks  order.BatchVersion
}

// Pair names two orders that were kept apart.
type Pair struct{ Ask, Bid Nonce }

// Book is everything that decides who is matched with whom. It is a value: the
// same book is always cleared in the same way.
type Book struct {
	Orders     []Order
	Purses     map[Key]Purse
	Recipients map[Key]order.BatchVersion // connected, by their channel key
	Apart      map[Pair]bool

	BatchFee chainfee.SatPerKWeight
	Fees     terms.FeeSchedule
	Tier     func(node Key) order.NodeTier
}

// refuse says why an ask and a bid may not be matched, or nothing. The traders'
// own checks come later and are fewer; what slips through here costs everybody
// in the batch a failed attempt.
func (b Book) refuse(ask, bid Order) string {
	asker, askerReady := b.Purses[ask.trader()]
	bidder, bidderReady := b.Purses[bid.trader()]
	speaks := bidder.Speaks
	if bid.sidecar() {
		speaks = b.Recipients[bid.channelKey]
	}
	_, recipientReady := b.Recipients[bid.channelKey]
	switch {
	case ask.duration() != bid.duration():
		return "the leases differ in length"
	case ask.kit().AuctionType != bid.kit().AuctionType:
		return "the orders are for different markets"
	case ask.rate() > bid.rate():
		return "the ask is dearer than the bid"
	case ask.trader() == bid.trader(), ask.node == bid.node:
		return "both orders are of the same trader or node"
	case !order.IsNodeIDAValidMatch(bid.node, ask.kit().AllowedNodeIDs,
		ask.kit().NotAllowedNodeIDs):

		return "the ask does not want the bid's node"
	case !order.IsNodeIDAValidMatch(ask.node, bid.kit().AllowedNodeIDs,
		bid.kit().NotAllowedNodeIDs):

		return "the bid does not want the ask's node"
	case b.Tier(ask.node) < minTier(bid):
		return "the ask's node is not good enough for the bid"
	case ask.kit().MaxBatchFeeRate < b.BatchFee:
		return "the batch is dearer than the ask allows"
	case bid.kit().MaxBatchFeeRate < b.BatchFee:
		return "the batch is dearer than the bid allows"
	case !order.MatchAnnouncementConstraints(ask.ask.AnnouncementConstraints,
		bid.bid.UnannouncedChannel):

		return "one wants the channel announced and the other does not"
	case !order.MatchZeroConfConstraints(ask.ask.ConfirmationConstraints,
		bid.bid.ZeroConfChannel):

		return "one wants a channel without confirmations, the other not"
	case bid.bid.SelfChanBalance > 0 &&
		ask.kit().Version < order.VersionSidecarChannel:

		return "the ask does not take bids with a start balance"
	case !sameChannelType(ask, bid):
		return "the orders want different types of channels"
	case !askerReady:
		return "the asker is not ready"
	case !bidderReady:
		return "the bidder is not ready"
	case bid.sidecar() && !recipientReady:
		return "the recipient is not connected"
	case bid.bid.UnannouncedChannel &&
		!(asker.Speaks.SupportsUnannouncedChannels() &&
			speaks.SupportsUnannouncedChannels()):

		return "a node cannot open unannounced channels"
	case bid.bid.ZeroConfChannel && !(asker.Speaks.SupportsZeroConfChannels() &&
		speaks.SupportsZeroConfChannels()):

		return "a node cannot open channels without confirmations"
	case b.Apart[Pair{ask.Nonce, bid.Nonce}]:
		return "the pair spoiled a batch and is kept apart for a while"
	}
	return ""
}

func minTier(bid Order) order.NodeTier {
	if bid.bid.MinNodeTier == order.NodeTierDefault {
		return order.DefaultMinNodeTier
	}
	return bid.bid.MinNodeTier
}

// sameChannelType says whether all who open the channel agree on its type. A
// sidecar ticket does not name one, so its recipient follows the ask alone;
// and a taproot channel needs both to ask for it.
func sameChannelType(ask, bid Order) bool {
	x, y := ask.kit().ChannelType, bid.kit().ChannelType
	if bid.sidecar() || x == order.ChannelTypeSimpleTaproot ||
		y == order.ChannelTypeSimpleTaproot {

		return x == y
	}
	return true
}
