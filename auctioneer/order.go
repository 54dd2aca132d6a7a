package main

import (
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcutil"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/sidecar"
	"google.golang.org/protobuf/proto"
)

// Order is an ask or a bid. A record is never changed in place.
type Order struct {
	Nonce    Nonce            `json:"nonce"`
	IsAsk    bool             `json:"is_ask"`
	Raw      Blob             `json:"raw"` // the trader's words, ServerAsk or ServerBid
	Sequence uint64           `json:"sequence"`
	Unfilled order.SupplyUnit `json:"unfilled"`
	State    rpc.OrderState   `json:"state"`

	// What Raw says, in pool's own types; exactly one of ask and bid is set.
	ask *order.Ask
	bid *order.Bid

	askWords *rpc.ServerAsk
	bidWords *rpc.ServerBid

	// node opens the channel or receives it; channelKey is its half of the
	// channel's output. Of a sidecar bid they are the recipient's.
	node, channelKey Key
}

// orderFromAsk reads an ask as its trader sent it.
func orderFromAsk(words *rpc.ServerAsk) (Order, error) {
	return readOrder(Order{IsAsk: true}, words)
}

// orderFromBid reads a bid as its trader sent it.
func orderFromBid(words *rpc.ServerBid) (Order, error) {
	return readOrder(Order{}, words)
}

func readOrder(o Order, words proto.Message) (Order, error) {
	raw, err := proto.Marshal(words)
	if err != nil {
		return o, err
	}
	o.Raw = raw
	if o, err = o.parsed(); err != nil {
		return o, err
	}
	o.Nonce = Nonce(o.kit().Nonce())
	o.Unfilled = o.kit().Units
	o.State = rpc.OrderState_ORDER_SUBMITTED
	return o, nil
}

// parsed returns the order with everything filled in that Raw says.
func (o Order) parsed() (Order, error) {
	var (
		match   *order.MatchedOrder
		details *rpc.ServerOrder
		err     error
	)
	if o.IsAsk {
		o.askWords = &rpc.ServerAsk{}
		if err = proto.Unmarshal(o.Raw, o.askWords); err != nil {
			return o, err
		}
		details = o.askWords.Details
	} else {
		o.bidWords = &rpc.ServerBid{}
		if err = proto.Unmarshal(o.Raw, o.bidWords); err != nil {
			return o, err
		}
		details = o.bidWords.Details
	}
	if details == nil {
		return o, errors.New("an order without details")
	}
	if _, err = parseNonce(details.OrderNonce); err != nil {
		return o, err
	}
	if o.IsAsk {
		match, err = order.ParseRPCServerAsk(o.askWords)
	} else {
		match, err = order.ParseRPCServerBid(o.bidWords)
	}
	if err != nil {
		return o, err
	}
	o.node, o.channelKey = match.NodeKey, match.MultiSigKey
	switch native := match.Order.(type) {
	case *order.Ask:
		o.ask = native
	case *order.Bid:
		o.bid = native
		// The parser leaves out what only the auctioneer needs, and the
		// digest needs it too.
		o.bid.MinNodeTier = order.NodeTier(o.bidWords.MinNodeTier)
		if o.bidWords.IsSidecarChannel {
			o.bid.SidecarTicket = &sidecar.Ticket{}
		}
	}
	kit := o.kit()
	kit.MinUnitsMatch = order.NewSupplyFromSats(
		btcutil.Amount(details.MinChanAmt),
	)
	kit.AllowedNodeIDs, err = order.UnmarshalNodeIDSlice(details.AllowedNodeIds)
	if err != nil {
		return o, err
	}
	kit.NotAllowedNodeIDs, err = order.UnmarshalNodeIDSlice(
		details.NotAllowedNodeIds,
	)
	return o, err
}

func (o Order) native() order.Order {
	if o.IsAsk {
		return o.ask
	}
	return o.bid
}

func (o Order) kit() *order.Kit { return o.native().Details() }

func (o Order) details() *rpc.ServerOrder {
	if o.IsAsk {
		return o.askWords.Details
	}
	return o.bidWords.Details
}

func (o Order) trader() Key { return o.kit().AcctKey }

func (o Order) rate() order.FixedRatePremium {
	return order.FixedRatePremium(o.kit().FixedRate)
}

func (o Order) duration() uint32 { return o.kit().LeaseDuration }

// sidecar says whether the channel goes to somebody else than the trader.
func (o Order) sidecar() bool { return !o.IsAsk && o.bid.SidecarTicket != nil }

// open says whether the order can still be matched.
func (o Order) open() bool {
	return o.State == rpc.OrderState_ORDER_SUBMITTED ||
		o.State == rpc.OrderState_ORDER_PARTIALLY_FILLED
}

// filled returns the order after that many of its units were matched. What is
// left over is given up when it is less than the trader's own minimum.
func (o Order) filled(units order.SupplyUnit) Order {
	o.Unfilled -= units
	o.State = rpc.OrderState_ORDER_PARTIALLY_FILLED
	if o.Unfilled == 0 || o.Unfilled < o.kit().MinUnitsMatch {
		o.State = rpc.OrderState_ORDER_EXECUTED
	}
	return o
}

func (o Order) String() string {
	side := "bid"
	if o.IsAsk {
		side = "ask"
	}
	return fmt.Sprintf("%s %s", side, o.Nonce)
}
