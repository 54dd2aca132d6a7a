package main

import (
	"context"
	"log"
	"sync"
	"time"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/terms"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Terms are what the operator decides about the market.
type Terms struct {
	MaxAccount btcutil.Amount
	BaseFee    btcutil.Amount         // a match, paid by both sides
	FeeRate    btcutil.Amount         // millionths of the amount, by both sides
	BatchFee   chainfee.SatPerKWeight // the miner's, for a batch
	Durations  []uint32               // blocks that a lease can last

	// Renewal is how many blocks an account lives at least after a batch;
	// none leaves the expiry as it is.
	Renewal uint32

	// Apart is how long two orders are kept apart after one of their traders
	// spoiled a batch, and how long a trader that went silent is left out.
	Apart time.Duration

	// Every is the time between automatic batches; none means by hand only.
	Every time.Duration
}

// fees returns the execution fee as pool's own arithmetic wants it.
func (t Terms) fees() terms.FeeSchedule {
	return terms.NewLinearFeeSchedule(t.BaseFee, t.FeeRate)
}

func (t Terms) wireFees() *rpc.ExecutionFee {
	return &rpc.ExecutionFee{
		BaseFee: uint64(t.BaseFee), FeeRate: uint64(t.FeeRate),
	}
}

// Auction is the service that poold talks to.
type Auction struct {
	rpc.UnimplementedChannelAuctioneerServer

	params *chaincfg.Params
	terms  Terms
	keys   *Keys
	store  *Store
	chain  Chain
	now    func() time.Time
	signer *signer
	crowd  *Crowd

	patience Patience

	// batching is held by the one batch that runs.
	batching sync.Mutex

	// mu makes "is it free? then take it" one step: whoever reads the state
	// to decide about an account or an order holds it until the decision is
	// written. Nothing that waits for others is called under it.
	mu      sync.Mutex
	running *Draft
	shunned *Shunned

	nextClear time.Time // when the next automatic batch is tried
}

func newAuction(params *chaincfg.Params, terms Terms, keys *Keys, store *Store,
	chain Chain, now func() time.Time) *Auction {

	return &Auction{
		params:   params,
		terms:    terms,
		keys:     keys,
		store:    store,
		chain:    chain,
		now:      now,
		signer:   newSigner(only(keys.Auctioneer)),
		crowd:    newCrowd(now),
		patience: usualPatience,
		shunned:  newShunned(),
		// Without automatic batches the next one is always due.
		nextClear: now(),
	}
}

// Terms answers what poold asks before nearly everything, also to find out
// whether we are there; so it needs nothing but memory.
func (a *Auction) Terms(context.Context, *rpc.TermsRequest) (
	*rpc.TermsResponse, error) {

	buckets := map[uint32]rpc.DurationBucketState{}
	for _, blocks := range a.terms.Durations {
		buckets[blocks] = rpc.DurationBucketState_MARKET_OPEN
	}
	a.mu.Lock()
	next := a.nextClear
	a.mu.Unlock()
	return &rpc.TermsResponse{
		MaxAccountValue:          uint64(a.terms.MaxAccount),
		ExecutionFee:             a.terms.wireFees(),
		LeaseDurationBuckets:     buckets,
		NextBatchConfTarget:      6,
		NextBatchFeeRateSatPerKw: uint64(a.terms.BatchFee),
		NextBatchClearTimestamp:  uint64(next.Unix()),
		AutoRenewExtensionBlocks: a.terms.Renewal,
	}, nil
}

// refresh looks at the chain for accounts, and writes down what has become of
// them. An account that was changed by somebody else meanwhile is left alone.
func (a *Auction) refresh(ctx context.Context, traders ...Key) error {
	for _, trader := range traders {
		before, ok := a.store.View().Accounts[trader]
		if !ok {
			continue
		}
		after, err := observe(ctx, a.chain, a.keys, before, a.now())
		if err != nil {
			return unavailable(err)
		}
		if same(before, after) {
			continue
		}
		if err := a.move(before, after); err != nil {
			return err
		}
	}
	return nil
}

// move replaces an account, unless it has changed since it was looked at or
// takes part in a batch. The orders of an account that closed are canceled.
func (a *Auction) move(before, after Account) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running.charges(before.Trader) {
		return nil
	}
	return a.store.Update(func(s *State) error {
		if !same(s.Accounts[before.Trader], before) {
			return nil
		}
		s.Accounts[before.Trader] = after
		log.Printf("account %s: %s -> %s, %d sat", after.Trader,
			before.Status, after.Status, after.Value)
		if after.Status != Closed {
			return nil
		}
		for nonce, o := range s.Orders {
			if o.trader() == after.Trader && o.open() {
				o.State = rpc.OrderState_ORDER_CANCELED
				s.Orders[nonce] = o
			}
		}
		return nil
	})
}

// same says whether two records of an account tell the same story.
func same(x, y Account) bool {
	return x.Status == y.Status && x.OutPoint == y.OutPoint &&
		x.Value == y.Value && len(x.Changes) == len(y.Changes)
}

// unavailable makes an error of the chain one that a trader tries again.
func unavailable(err error) error {
	return status.Error(codes.Unavailable, err.Error())
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func wrongState(format string, args ...any) error {
	return status.Errorf(codes.FailedPrecondition, format, args...)
}

func notFound(text string) error { return status.Error(codes.NotFound, text) }
