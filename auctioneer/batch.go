package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/lightninglabs/pool/order"
)

// attemptsLimit bounds the tries of one tick. Each try that fails keeps at least
// one pair apart, so that there are never many.
const attemptsLimit = 20

// Patience is how long all traders together may take for a step. A trader gives
// a step up by itself after 15 s and says so; we wait longer, to know who was at
// fault.
type Patience struct{ Accept, Sign time.Duration }

var usualPatience = Patience{Accept: 20 * time.Second, Sign: 30 * time.Second}

// Result is what a tick came to.
type Result struct {
	Txid     *chainhash.Hash `json:"txid"` // null when nothing was matched
	ID       *Key            `json:"batch_id"`
	Channels int             `json:"channels"`
	Spoiled  []string        `json:"spoiled"` // why attempts failed
}

// tick runs one batch, if anything matches. When a trader spoils it, it is
// tried again without that pair.
func (a *Auction) tick(ctx context.Context) (Result, error) {
	a.batching.Lock()
	defer a.batching.Unlock()
	result := Result{Spoiled: []string{}}
	for range attemptsLimit {
		draft, err := a.draft(ctx)
		if draft == nil || err != nil {
			return result, err
		}
		txid, err := a.execute(ctx, draft)
		a.finished()
		var spoiled *Spoiled
		switch {
		case err == nil:
			result.Txid, result.ID = &txid, &draft.ID
			result.Channels = len(draft.Clearing.Matches)
			return result, nil
		case errors.As(err, &spoiled):
			log.Printf("batch %s: %v", draft.ID, err)
			result.Spoiled = append(result.Spoiled, err.Error())
			a.shun(draft, spoiled)
			for stream, reject := range spoiled.Rejects {
				if err := a.stuck(stream, reject); err != nil {
					return result, err
				}
			}
		default:
			log.Printf("batch %s: failed: %v", draft.ID, err)
			return result, err
		}
	}
	return result, fmt.Errorf("%d attempts at a batch were spoiled", attemptsLimit)
}

// book collects what can be matched now. The lock is held.
func (a *Auction) book(s *State, height uint32) Book {
	now := a.now()
	unheard := s.unheard()
	book := Book{
		Purses:     map[Key]Purse{},
		Recipients: map[Key]order.BatchVersion{},
		Apart:      a.shunned.apart(now),
		BatchFee:   a.terms.BatchFee,
		Fees:       a.terms.fees(),
		Tier:       tierOf,
	}
	for trader, account := range s.Accounts {
		if account.Status != Open || account.expired(height) ||
			a.shunned.aside(trader, now) {

			continue
		}
		stream, speaks := a.crowd.ready(trader, false)
		if stream == nil {
			continue
		}
		if _, ok := unheard[stream.identity]; !ok {
			book.Purses[trader] = Purse{
				Value: account.Value, Version: account.Version, Speaks: speaks,
			}
		}
	}
	for _, o := range s.Orders {
		if !o.open() {
			continue
		}
		book.Orders = append(book.Orders, o)
		if !o.sidecar() || a.shunned.aside(o.channelKey, now) {
			continue
		}
		if stream, speaks := a.crowd.ready(o.channelKey, true); stream != nil {
			book.Recipients[o.channelKey] = speaks
		}
	}
	return book
}

// draft matches, and takes the matched accounts and orders until finished. It
// returns nothing when nothing matches.
func (a *Auction) draft(ctx context.Context) (*Draft, error) {
	height, err := a.chain.Height(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	state := a.store.View()
	book := a.book(state, height)
	clearing := book.clear()
	if len(clearing.Matches) == 0 {
		return nil, nil
	}
	draft := &Draft{
		ID: state.NextBatch, Height: height, Clearing: clearing,
		Legs:    map[Key]*Leg{},
		Streams: map[*Stream]order.BatchVersion{},
	}
	for trader, t := range tally(clearing, book.Purses, book.Fees,
		book.BatchFee) {

		before := state.Accounts[trader]
		native, err := before.native(a.keys)
		if err != nil {
			return nil, err
		}
		draft.Legs[trader] = &Leg{
			Before: before, Tally: t, native: native,
			Expiry: renewed(before, book.Purses[trader].Speaks, height,
				a.terms.Renewal),
		}
	}
	for _, m := range clearing.Matches {
		keys := map[Key]bool{m.Ask.trader(): false, m.Bid.trader(): false}
		if m.Bid.sidecar() {
			keys[m.Bid.channelKey] = true
		}
		for key, sidecar := range keys {
			stream, speaks := a.crowd.ready(key, sidecar)
			if stream == nil {
				return nil, nil // it has just left; there is a next tick
			}
			draft.Streams[stream] = speaks
		}
	}
	// The number of the attempt is on the disk before anybody hears of it.
	var attempt uint32
	err = a.store.Update(func(s *State) error {
		s.Attempts++
		attempt = s.Attempts
		return nil
	})
	if err != nil {
		return nil, err
	}
	revenue, err := a.keys.revenueScript(a.params)
	if err != nil {
		return nil, err
	}
	if err := draft.build(attempt, a.terms.BatchFee, revenue); err != nil {
		return nil, err
	}
	a.running = draft
	return draft, nil
}

// finished lets go of the accounts and orders of the running batch.
func (a *Auction) finished() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = nil
}

// execute takes a draft all the way.
//
//  1. Every account's output is still there.
//  2. Prepare: all traders check and accept.
//  3. Sign: the channels are negotiated, all traders sign.
//  4. The batch is written down as final. From here on it will be broadcast
//     until it confirms, whatever happens to us.
//  5. Broadcast. A definite refusal, and only that, takes step 4 back.
//  6. Finalize.
func (a *Auction) execute(ctx context.Context, d *Draft) (chainhash.Hash,
	error) {

	begun := a.now()
	if err := a.checkInputs(ctx, d); err != nil {
		return chainhash.Hash{}, err
	}
	log.Printf("batch %s: %d channels, %d accounts, transaction %v", d.ID,
		len(d.Clearing.Matches), len(d.Legs), d.Tx.TxHash())
	if err := a.prepare(ctx, d); err != nil {
		return chainhash.Hash{}, err
	}
	if err := a.collect(ctx, d); err != nil {
		return chainhash.Hash{}, err
	}
	undo, err := a.commit(d)
	if err != nil {
		return chainhash.Hash{}, err
	}
	if err := a.chain.Send(ctx, d.Tx); refused(err) {
		return chainhash.Hash{}, errors.Join(err, undo())
	} else if err != nil {
		log.Printf("batch %s: not known whether it was broadcast, will be "+
			"again: %v", d.ID, err)
	}
	var heard []string
	for stream := range d.Streams {
		if err := stream.send(finalize(d.ID, d.Tx.TxHash())); err != nil {
			log.Printf("batch %s: stream %d has left before the end", d.ID,
				stream.id)
		} else if !stream.sidecar {
			heard = append(heard, stream.identity)
		}
	}
	if err := a.heard(d.ID, heard...); err != nil {
		log.Printf("batch %s: %v", d.ID, err) // the batch is done all the same
	}
	log.Printf("batch %s: done in %v, transaction %v", d.ID,
		a.now().Sub(begun).Round(time.Millisecond), d.Tx.TxHash())
	return d.Tx.TxHash(), nil
}

// checkInputs makes sure that no account was spent behind our back.
func (a *Auction) checkInputs(ctx context.Context, d *Draft) error {
	for i, in := range d.Tx.TxIn {
		out, confirmations, err := a.chain.Output(ctx, in.PreviousOutPoint)
		if err != nil {
			return err
		}
		if out == nil || confirmations < 1 ||
			out.Value != d.Previous[i].Value {

			return fmt.Errorf("the account at %v is not there any more",
				in.PreviousOutPoint)
		}
	}
	return nil
}
