package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lightninglabs/pool/account"
	"github.com/lightninglabs/pool/order"
	"github.com/lightningnetwork/lnd/keychain"
)

func askOf(kit order.Kit) *order.Ask { return &order.Ask{Kit: kit} }

func TestATraderThatLostEverythingGetsItsAccountsBack(t *testing.T) {
	h := newHouse(t)
	tr := newTrader(t, "alice", h.address)
	ctx := context.Background()
	open := tr.open(h.chain, 1_000_000, account.VersionMuSig2V100RC2)
	tr.reserve(500_000, account.VersionTaprootEnabled, h.chain.height+1000)
	closed := tr.open(h.chain, 700_000, account.VersionInitialNoVersion)
	_, tx, err := tr.change(closed, nil, nil)
	if err == nil { // nothing goes out: all to the miner
		h.must(h.chain.Send(ctx, tx))
	}
	h.block()

	tr.stop()
	lost := newTrader(t, "alice", h.address) // the same seed, no database
	var keys []*keychain.KeyDescriptor
	for range 5 {
		key, err := lost.lnd.DeriveNextKey(ctx, 220)
		lost.must(err)
		keys = append(keys, key)
	}
	found, err := lost.process.client.RecoverAccounts(ctx, keys)
	lost.must(err)
	if len(found) != 3 {
		t.Fatalf("%d accounts were found", len(found))
	}
	if found[0].OutPoint != open.OutPoint || found[0].Value != open.Value ||
		found[0].LatestTx.TxHash() != open.OutPoint.Hash {

		t.Fatalf("%+v", found[0])
	}
	if found[1].State != account.StateInitiated || found[1].Value != 500_000 {
		t.Fatalf("%+v", found[1])
	}
	if found[2].State != account.StateClosed {
		t.Fatalf("%+v", found[2])
	}
}

// The ways an auctioneer can die in the middle of a batch.

func TestAuctioneerDiesBeforeABatchIsFinal(t *testing.T) {
	s := newSale(t, 2, 2)
	s.bidder.set(func(tr *trader) {
		tr.onSign = func(*order.Batch) error {
			s.server.Stop() // the last thing it ever does
			return nil
		}
	})
	if _, err := s.tryTick(); err != nil {
		t.Fatal(err)
	}
	s.bidder.set(func(tr *trader) { tr.onSign = nil })
	s.restart()
	s.backAgain()
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v %+v", result, s.report())
	}
	s.finalizedBoth()
}

func TestAuctioneerDiesAfterABatchIsFinalAndBeforeAnybodyHeard(t *testing.T) {
	s := newSale(t, 2, 2)
	s.chain.onSend = func() bool {
		s.server.Stop()
		return false // and the transaction was not sent either
	}
	if _, err := s.tryTick(); err != nil {
		t.Fatal(err)
	}
	s.chain.onSend = nil
	s.restart()
	s.backAgain()
	s.must(s.auction.resend(context.Background()))

	ctx := context.Background()
	s.later(2 * quiet)
	s.must(s.auction.conclude(ctx))
	s.finalizedBoth()
	s.must(s.auction.conclude(ctx)) // no second time
	s.block()
	for _, side := range []struct {
		tr   *trader
		acct *account.Account
	}{{s.asker, s.selling}, {s.bidder, s.buying}} {
		s.agree(side.tr.stored(side.acct), Open)
		select {
		case err := <-side.tr.process.crash:
			t.Fatal(err)
		default:
		}
	}
	s.trades()
}

// trades makes sure that both traders can do another deal.
func (s *sale) trades() {
	s.t.Helper()
	s.asker.reopen(s.selling)
	s.bidder.reopen(s.buying)
	s.bidder.bid(s.bidder.stored(s.buying), 1500, 2)
	if result := s.tick(); result.Txid == nil {
		s.t.Fatalf("%+v %+v", result, s.report())
	}
}

func TestATraderThatHeardTheEndIsNotToldAgain(t *testing.T) {
	s := newSale(t, 2, 2)
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	s.finalizedBoth()
	// We die before we can write down that they heard.
	s.must(s.auction.note(s.auction.store.View().Batches[0].ID,
		func(b *Batch) { b.Heard = nil }))
	s.restart()
	s.backAgain()
	s.later(2 * quiet)
	s.must(s.auction.conclude(context.Background()))
	if unheard := s.auction.store.View().unheard(); len(unheard) != 0 {
		t.Fatalf("%v", unheard)
	}
	s.block()
	s.trades() // a poold that crashed would have spoiled it
}

func TestATraderThatCannotForgetABatchIsMadeToRestart(t *testing.T) {
	s := newSale(t, 2, 2)
	s.chain.onSend = func() bool {
		s.server.Stop()
		return true
	}
	if _, err := s.tryTick(); err != nil {
		t.Fatal(err)
	}
	s.chain.onSend = nil
	s.restart()
	s.backAgain()
	// Both see their accounts spent, before we get to tell them.
	s.block()
	s.asker.must(s.asker.db.MarkBatchComplete())
	s.bidder.must(s.bidder.db.MarkBatchComplete())
	s.later(2 * quiet)
	if book := s.auction.book(s.auction.store.View(), 1002); len(
		book.Purses) != 0 {

		t.Fatal("a trader would take the next batch for the last")
	}
	s.must(s.auction.conclude(context.Background()))
	eventually(t, "both end themselves", func() bool {
		return len(s.asker.process.crash) == 1 &&
			len(s.bidder.process.crash) == 1
	})
	s.backAgain()
	s.trades()
}

func TestATraderThatComplainsOfTheBatchBeforeIsToldItsEnd(t *testing.T) {
	s := newSale(t, 2, 2)
	s.bidder.set(func(tr *trader) { tr.deaf = true })
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	s.block()
	s.bidder.must(s.bidder.db.MarkBatchComplete())
	s.asker.reopen(s.selling)
	s.bidder.reopen(s.buying)
	s.bidder.set(func(tr *trader) {
		tr.deaf = false
		tr.onPrepare = func(*order.Batch) error {
			return errors.New("error abandoning channels from previous " +
				"pending batch: it is open")
		}
	})
	s.bidder.bid(s.bidder.stored(s.buying), 1500, 2)
	if result := s.tick(); result.Txid != nil || len(result.Spoiled) != 1 {
		t.Fatalf("%+v", result)
	}
	s.must(s.auction.conclude(context.Background()))
	eventually(t, "the bidder ends itself", func() bool {
		return len(s.bidder.process.crash) == 1
	})
}

func TestATraderThatRestartedIsNotSentTheEndItForgot(t *testing.T) {
	s := newSale(t, 2, 2)
	s.bidder.set(func(tr *trader) { tr.deaf = true })
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	eventually(t, "the asker hears the end", func() bool {
		s.asker.mu.Lock()
		defer s.asker.mu.Unlock()
		return s.asker.finalized == 1
	})
	s.bidder.stop()
	s.bidder.set(func(tr *trader) { tr.deaf = false })
	s.bidder.start()
	s.bidder.must(s.bidder.process.client.StartAccountSubscription(
		context.Background(), s.buying.TraderKey))
	s.later(2 * quiet)
	s.must(s.auction.conclude(context.Background()))
	if s.bidder.finalized != 0 {
		t.Fatal("a new process was told the end of an old one's batch")
	}
	// It finds out from the chain, where its account was spent.
	s.bidder.must(s.bidder.db.MarkBatchComplete())
	s.block()
	s.agree(s.bidder.stored(s.buying), Open)
}

// backAgain waits until both traders are back. One that could not give an answer
// ends itself, and is started again as a supervisor would.
func (s *sale) backAgain() {
	s.t.Helper()
	for _, side := range []struct {
		tr   *trader
		acct *account.Account
	}{{s.asker, s.selling}, {s.bidder, s.buying}} {
		trader := keyOf(side.acct.TraderKey.PubKey)
		eventually(s.t, side.tr.name+" comes back", func() bool {
			select {
			case <-side.tr.process.crash:
				side.tr.stop()
				side.tr.start()
				side.tr.must(side.tr.process.client.StartAccountSubscription(
					context.Background(), side.acct.TraderKey))
			default:
			}
			return s.auction.crowd.connected(trader, false)
		})
	}
}

func TestEverythingIsAsBeforeAfterARestart(t *testing.T) {
	s := newSale(t, 0, 2)
	before := s.report()
	s.restart()
	s.backAgain()
	after := s.report()
	before.NextClear, after.NextClear = time.Time{}, time.Time{}
	for i := range before.Orders {
		before.Orders[i].Waiting, after.Orders[i].Waiting = nil, nil
	}
	before.Streams, after.Streams = 0, 0
	if len(before.Accounts) != 2 || len(after.Accounts) != 2 ||
		before.Accounts[0] != after.Accounts[0] ||
		before.Accounts[1] != after.Accounts[1] ||
		len(before.Orders) != 2 || len(after.Orders) != 2 {

		t.Fatalf("%+v became %+v", before, after)
	}
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
}
