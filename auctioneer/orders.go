package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"slices"

	"github.com/btcsuite/btcd/btcutil"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
)

// unknownOrder is a text that poold looks for: it lets go of an order that we
// do not know, and at its start exits on any other error.
const unknownOrder = "no order found"

// SubmitOrder takes an order into the book. The same order sent again is
// accepted again.
func (a *Auction) SubmitOrder(ctx context.Context,
	r *rpc.ServerSubmitOrderRequest) (*rpc.ServerSubmitOrderResponse, error) {

	var (
		o   Order
		err error
	)
	switch {
	case r.GetAsk() != nil:
		o, err = orderFromAsk(r.GetAsk())
	case r.GetBid() != nil:
		o, err = orderFromBid(r.GetBid())
	default:
		return nil, invalid("an order is an ask or a bid")
	}
	if err != nil {
		return nil, invalid("the order: %v", err)
	}
	if err := a.refresh(ctx, o.trader()); err != nil {
		return nil, err
	}
	height, err := a.chain.Height(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if reason := a.unfit(o); reason != "" {
		return a.decline(o, reason), nil
	}
	var reason string
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.store.Update(func(s *State) error {
		if reason = homeless(s, o, height); reason != "" {
			return nil
		}
		if known, ok := s.Orders[o.Nonce]; ok {
			if !slices.Equal(known.Raw, o.Raw) || !known.open() {
				reason = "an order with this nonce exists"
			}
			return nil
		}
		s.Sequence++
		o.Sequence = s.Sequence
		s.Orders[o.Nonce] = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	if reason != "" {
		return a.decline(o, reason), nil
	}
	log.Printf("%s: %d sat at %d for %d blocks, account %s", o, o.kit().Amt,
		o.kit().FixedRate, o.duration(), o.trader())
	return &rpc.ServerSubmitOrderResponse{
		Details: &rpc.ServerSubmitOrderResponse_Accepted{Accepted: true},
	}, nil
}

// unfit says what is wrong with an order in itself, or nothing.
func (a *Auction) unfit(o Order) string {
	kit := o.kit()
	details := o.details()
	switch {
	case kit.AuctionType != order.BTCInboundLiquidity:
		return "only the market for inbound liquidity is open here"
	case kit.Amt == 0 || kit.Amt%order.BaseSupplyUnit != 0:
		return fmt.Sprintf("the amount is not a multiple of %d sat",
			int64(order.BaseSupplyUnit))
	case kit.MinUnitsMatch == 0 || kit.MinUnitsMatch > kit.Units ||
		btcutil.Amount(details.MinChanAmt)%order.BaseSupplyUnit != 0:

		return "the smallest channel is not part of the amount"
	case !slices.Contains(a.terms.Durations, kit.LeaseDuration):
		return fmt.Sprintf("leases last %v blocks here, not %d",
			a.terms.Durations, kit.LeaseDuration)
	case kit.MaxBatchFeeRate < chainfee.FeePerKwFloor:
		return fmt.Sprintf("the highest batch fee rate is under %d sat/kw",
			int64(chainfee.FeePerKwFloor))
	case len(kit.AllowedNodeIDs) > 0 && len(kit.NotAllowedNodeIDs) > 0:
		return "nodes are either allowed or excluded, not both"
	case o.sidecar() && kit.Version < order.VersionSidecarChannel:
		return "a sidecar channel needs a newer order version"
	case o.sidecar() && kit.MinUnitsMatch != kit.Units:
		return "a sidecar channel is bought whole"
	}
	if !o.IsAsk && o.bid.SelfChanBalance > 0 {
		if err := o.bid.ValidateSelfChanBalance(); err != nil {
			return err.Error()
		}
	}
	digest, err := o.native().Digest()
	if err != nil {
		return err.Error() // an order version that nobody knows
	}
	if err := checkSignature(digest[:], details.OrderSig,
		o.trader()); err != nil {

		return err.Error()
	}
	return ""
}

// homeless says why the order's account cannot carry it, or nothing.
func homeless(s *State, o Order, height uint32) string {
	owner, ok := s.Accounts[o.trader()]
	switch {
	case !ok:
		return "the account is not known"
	case owner.Status == Reserved, owner.Status == PendingOpen,
		owner.Status == Closed:

		return "the account is " + string(owner.Status)
	case owner.expired(height):
		return "the account has expired"
	}
	return ""
}

func (a *Auction) decline(o Order,
	reason string) *rpc.ServerSubmitOrderResponse {

	log.Printf("%s: refused: %s", o, reason)
	return &rpc.ServerSubmitOrderResponse{
		Details: &rpc.ServerSubmitOrderResponse_InvalidOrder{
			InvalidOrder: &rpc.InvalidOrder{
				OrderNonce: o.Nonce[:], FailString: reason,
			},
		},
	}
}

// CancelOrder takes an order out of the book. An answer without an error means
// that it will never be matched; a second cancel gets the same answer.
func (a *Auction) CancelOrder(_ context.Context,
	r *rpc.ServerCancelOrderRequest) (*rpc.ServerCancelOrderResponse, error) {

	nonce := Nonce(sha256.Sum256(r.OrderNoncePreimage))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running.matches(nonce) {
		return nil, wrongState("the order takes part in a batch, try later")
	}
	err := a.store.Update(func(s *State) error {
		o, ok := s.Orders[nonce]
		switch {
		case !ok:
			return notFound(unknownOrder)
		case o.State == rpc.OrderState_ORDER_CANCELED:
			return nil
		case !o.open():
			return wrongState("the order was filled already")
		}
		o.State = rpc.OrderState_ORDER_CANCELED
		s.Orders[nonce] = o
		log.Printf("%s: canceled", o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &rpc.ServerCancelOrderResponse{}, nil
}

// OrderState tells how much of an order is filled.
func (a *Auction) OrderState(_ context.Context,
	r *rpc.ServerOrderStateRequest) (*rpc.ServerOrderStateResponse, error) {

	nonce, err := parseNonce(r.OrderNonce)
	if err != nil {
		return nil, invalid("%v", err)
	}
	o, ok := a.store.View().Orders[nonce]
	if !ok {
		return nil, notFound(unknownOrder)
	}
	return &rpc.ServerOrderStateResponse{
		State: o.State, UnitsUnfulfilled: uint32(o.Unfilled),
	}, nil
}
