package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
)

// sale is an asker and a bidder with an account each and orders that fit.
type sale struct {
	*house

	asker, bidder   *trader
	selling, buying *account.Account
	ask             *order.Ask
	bid             *order.Bid
}

func newSale(t *testing.T, askVersion, bidVersion account.Version) *sale {
	h := newHouse(t)
	s := &sale{
		house:  h,
		asker:  newTrader(t, "asker", h.address),
		bidder: newTrader(t, "bidder", h.address),
	}
	s.selling = s.asker.open(h.chain, 10_000_000, askVersion)
	s.buying = s.bidder.open(h.chain, 1_000_000, bidVersion)
	s.ask = s.asker.ask(s.selling, 1000, 50)
	s.bid = s.bidder.bid(s.buying, 3000, 10)
	return s
}

func (s *sale) finalizedBoth() {
	s.t.Helper()
	for _, tr := range []*trader{s.asker, s.bidder} {
		eventually(s.t, tr.name+" hears the end", func() bool {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			return tr.finalized == 1
		})
	}
}

func TestABatchSellsAChannelBetweenAccountsOfAnyVersion(t *testing.T) {
	for _, versions := range [][2]account.Version{
		{account.VersionInitialNoVersion, account.VersionInitialNoVersion},
		{account.VersionTaprootEnabled, account.VersionTaprootEnabled},
		{account.VersionMuSig2V100RC2, account.VersionMuSig2V100RC2},
		{account.VersionInitialNoVersion, account.VersionMuSig2V100RC2},
	} {
		t.Run(versions[0].String()+" to "+versions[1].String(),
			func(t *testing.T) {
				s := newSale(t, versions[0], versions[1])
				result := s.tick()
				if result.Txid == nil || result.Channels != 1 ||
					len(result.Spoiled) != 0 {

					t.Fatalf("%+v", result)
				}
				s.finalizedBoth()

				// Both sides agree on everything.
				for _, side := range []struct {
					tr   *trader
					acct *account.Account
				}{{s.asker, s.selling}, {s.bidder, s.buying}} {
					theirs := side.tr.stored(side.acct)
					ours := s.account(keyOf(side.acct.TraderKey.PubKey))
					if theirs.Value != ours.Value ||
						theirs.OutPoint != ours.OutPoint ||
						theirs.Expiry != ours.Expiry ||
						keyOf(theirs.BatchKey) != ours.BatchKey ||
						ours.Status != PendingBatch {

						t.Fatalf("%+v is not %+v", theirs, ours)
					}
				}
				state, left := s.bidder.state(s.bid)
				if state != order.StateExecuted || left != 0 {
					t.Fatalf("the bid is %v with %d left", state, left)
				}
				state, left = s.asker.state(s.ask)
				if state != order.StatePartiallyFilled || left != 40 {
					t.Fatalf("the ask is %v with %d left", state, left)
				}

				// A block makes the accounts free for the next batch.
				s.block()
				if s.account(keyOf(s.buying.TraderKey.PubKey)).Status != Open {
					t.Fatal("the account did not open again")
				}
				s.asker.reopen(s.selling)
				s.bidder.reopen(s.buying)
				s.bidder.bid(s.bidder.stored(s.buying), 2000, 5)
				if again := s.tick(); again.Txid == nil ||
					*again.Txid == *result.Txid || *again.ID == *result.ID {

					t.Fatalf("%+v", again)
				}
			})
	}
}

func TestASidecarChannelIsSoldToAnotherNode(t *testing.T) {
	h := newHouse(t)
	asker := newTrader(t, "asker", h.address)
	provider := newTrader(t, "provider", h.address)
	buyer := newTrader(t, "buyer", h.address)
	selling := asker.open(h.chain, 10_000_000, account.VersionMuSig2V100RC2)
	paying := provider.open(h.chain, 1_000_000, account.VersionMuSig2V100RC2)
	asker.ask(selling, 1000, 50)
	bid := provider.bidFor(paying, buyer, 2000, 10, 200_000)
	h.recipientsReady()
	result := h.tick()
	if result.Txid == nil {
		t.Fatalf("%+v", h.report())
	}
	eventually(t, "the provider hears the end", func() bool {
		state, _ := provider.state(bid)
		return state == order.StateExecuted
	})
	// Premium, execution fee, start balance and the miner's share are paid.
	want := 1_000_000 - 4032 - 1001 - 200_000 - 245
	if got := provider.stored(paying).Value; int(got) != want {
		t.Fatalf("%d sat are left, not %d", got, want)
	}
}

func (h *house) report() Report {
	report, err := h.auction.status(context.Background())
	h.must(err)
	return report
}

func TestNothingIsMatchedForARecipientWhoIsNotThere(t *testing.T) {
	h := newHouse(t)
	asker := newTrader(t, "asker", h.address)
	provider := newTrader(t, "provider", h.address)
	buyer := newTrader(t, "buyer", h.address)
	selling := asker.open(h.chain, 10_000_000, account.VersionMuSig2V100RC2)
	paying := provider.open(h.chain, 1_000_000, account.VersionMuSig2V100RC2)
	asker.ask(selling, 1000, 50)
	provider.bidFor(paying, buyer, 2000, 10, 0)
	buyer.stop()
	eventually(t, "the buyer is gone", func() bool {
		return h.auction.crowd.count() == 2
	})
	if result := h.tick(); result.Txid != nil {
		t.Fatal("a channel was sold to nobody")
	}
	for _, o := range h.report().Orders {
		if o.Sidecar && (len(o.Waiting) != 1 ||
			o.Waiting[0] != "the recipient is not connected") {

			t.Fatalf("%q", o.Waiting)
		}
	}
}

func TestAPairThatATraderRejectsIsKeptApartAndTheOthersGoOn(t *testing.T) {
	s := newSale(t, 2, 2)
	other := newTrader(t, "other asker", s.address)
	dearer := other.open(s.chain, 10_000_000, 2)
	instead := other.ask(dearer, 2000, 20)
	s.bidder.set(func(tr *trader) {
		tr.onPrepare = func(batch *order.Batch) error {
			for _, matched := range batch.MatchedOrders {
				if matched[0].Order.Nonce() == s.ask.Nonce() {
					return rejection{s.ask.Nonce().String(): {}}
				}
			}
			return nil
		}
	})
	result := s.tick()
	if result.Txid == nil || len(result.Spoiled) != 1 {
		t.Fatalf("%+v", result)
	}
	if _, left := other.state(instead); left == 20 {
		eventually(t, "the dearer ask is filled", func() bool {
			_, left := other.state(instead)
			return left == 10
		})
	}
	// After a while the pair may try again.
	s.later(2 * time.Minute)
	s.auction.mu.Lock()
	defer s.auction.mu.Unlock()
	if apart := s.auction.shunned.apart(s.now()); len(apart) != 0 {
		t.Fatalf("still apart: %v", apart)
	}
}

func TestEachAttemptHasATxidOfItsOwnAndTheSameID(t *testing.T) {
	s := newSale(t, 2, 2)
	txids, ids := map[string]bool{}, map[order.BatchID]bool{}
	s.bidder.set(func(tr *trader) {
		tr.onSign = func(batch *order.Batch) error {
			txids[batch.BatchTX.TxHash().String()] = true
			ids[batch.ID] = true
			if len(txids) < 3 {
				return errors.New("not now")
			}
			return nil
		}
	})
	for range 3 {
		s.tick()
		s.later(2 * time.Minute) // until the pair may try again
	}
	if len(txids) != 3 || len(ids) != 1 {
		t.Fatalf("%d txids, %d IDs", len(txids), len(ids))
	}
	s.finalizedBoth()
}

func TestATraderThatFallsSilentIsLeftOutAndNotAskedAgain(t *testing.T) {
	s := newSale(t, 2, 2)
	s.auction.patience = Patience{
		// The other one answers in time, however busy this machine is.
		Accept: 3 * time.Second, Sign: 20 * time.Second,
	}
	awake := make(chan struct{})
	wake := sync.OnceFunc(func() { close(awake) })
	t.Cleanup(wake) // the trader is stopped also where this test fails
	s.bidder.set(func(tr *trader) {
		tr.onPrepare = func(*order.Batch) error {
			<-awake
			return nil
		}
	})
	result := s.tick()
	if result.Txid != nil || len(result.Spoiled) != 1 {
		t.Fatalf("%+v", result)
	}
	// It still owes an answer: until that comes it gets no other question,
	// which it could mistake for the next.
	s.later(2 * time.Minute)
	if result := s.tick(); result.Txid != nil || len(result.Spoiled) != 0 {
		t.Fatalf("%+v", result)
	}
	s.bidder.set(func(tr *trader) { tr.onPrepare = nil })
	wake()
	stream, _ := s.auction.crowd.newestOf(keyOf(s.buying.TraderKey.PubKey))
	eventually(t, "the late answer", func() bool {
		s.auction.crowd.mu.Lock()
		defer s.auction.crowd.mu.Unlock()
		return stream.waiting == nil
	})
	s.auction.patience = usualPatience
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v %+v", result, s.report())
	}
	s.finalizedBoth()
}

func (c *Crowd) newestOf(key Key) (*Stream, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream := c.newest(key, false)
	return stream, stream != nil
}

func TestATraderThatHasJustGreetedGetsNoBatchYet(t *testing.T) {
	s := newSale(t, 2, 2)
	result, err := s.auction.tick(context.Background())
	if err != nil || result.Txid != nil || len(result.Spoiled) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
}

func TestAnOrderInARunningBatchCannotBeCanceledNorItsAccountChanged(
	t *testing.T) {

	s := newSale(t, 2, 2)
	ctx := context.Background()
	var cancel, modify, unrelated error
	spare := s.bidder.bid(s.buying, 1, 1) // matches nothing
	s.bidder.set(func(tr *trader) {
		tr.onPrepare = func(*order.Batch) error {
			cancel = s.bidder.process.client.CancelOrder(ctx, s.bid.Preimage)
			unrelated = s.bidder.process.client.CancelOrder(ctx,
				spare.Preimage)
			_, _, modify = s.bidder.change(s.buying, nil, nil,
				account.ValueModifier(900_000))
			return nil
		}
	})
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	if cancel == nil || modify == nil || unrelated != nil {
		t.Fatalf("cancel: %v, modify: %v, unrelated: %v", cancel, modify,
			unrelated)
	}
	// Filled orders cannot be canceled afterwards, canceled ones again can.
	if s.bidder.process.client.CancelOrder(ctx, s.bid.Preimage) == nil {
		t.Fatal("a filled order was canceled")
	}
	s.bidder.must(s.bidder.process.client.CancelOrder(ctx, spare.Preimage))
	s.bidder.must(s.asker.process.client.CancelOrder(ctx, s.ask.Preimage))
	if state := s.auction.store.View().Orders[Nonce(
		s.ask.Nonce())].State; state != rpc.OrderState_ORDER_CANCELED {

		t.Fatalf("the rest of the ask is %v", state)
	}
}

func TestABatchThatTheChainRefusesIsTakenBack(t *testing.T) {
	s := newSale(t, 2, 2)
	before := s.auction.store.View()
	s.chain.set(func(c *fakeChain) { c.refuses = true })
	if _, err := s.tryTick(); !refused(err) {
		t.Fatalf("%v", err)
	}
	after := s.auction.store.View()
	for _, trader := range []Key{
		keyOf(s.selling.TraderKey.PubKey), keyOf(s.buying.TraderKey.PubKey),
	} {
		if !same(before.Accounts[trader], after.Accounts[trader]) {
			t.Fatalf("%+v", after.Accounts[trader])
		}
	}
	if len(after.Batches) != 0 || after.NextBatch != before.NextBatch {
		t.Fatal("the batch is still there")
	}
	s.chain.set(func(c *fakeChain) { c.refuses = false })
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	s.finalizedBoth()
}

func TestABatchWhoseBroadcastIsNotKnownIsSentUntilItConfirms(t *testing.T) {
	s := newSale(t, 2, 2)
	lost := true
	s.chain.onSend = func() bool { return !lost }
	result := s.tick()
	if result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	s.finalizedBoth()
	if known, _, _ := s.chain.Transaction(context.Background(),
		*result.Txid); known != nil {

		t.Fatal("it was broadcast after all")
	}
	lost = false
	s.must(s.auction.resend(context.Background()))
	s.chain.forget() // btcd restarts
	s.block()        // nothing to mine: it is sent again
	s.block()
	s.must(s.auction.resend(context.Background()))
	if batches := s.auction.store.View().Batches; !batches[0].Confirmed {
		t.Fatalf("%+v", batches[0])
	}
}

func TestAnAnswerCountsEvenIfAnotherTraderUsedUpTheTime(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	gone := make(chan struct{})
	close(gone)
	for range 100 {
		answer := make(chan *rpc.ClientAuctionMessage, 1)
		answer <- &rpc.ClientAuctionMessage{}
		if await(over, answer, gone) == nil {
			t.Fatal("a trader paid for the silence of another")
		}
	}
}
