package main

import (
	"context"
	"log"
	"time"
)

// watchEvery is the time between two looks at the chain.
const watchEvery = time.Second

// resendEvery is the time between two looks for batches that wait for a block.
const resendEvery = 10 * time.Second

// watch keeps the accounts and batches in step with the chain until the
// context ends. It goes on when the chain does not answer.
func (a *Auction) watch(ctx context.Context) {
	var (
		seen   uint32
		resent time.Time
		silent bool
	)
	for range ticks(ctx, watchEvery) {
		height, err := a.chain.Height(ctx)
		if err == nil {
			fresh := height != seen
			if fresh || a.now().Sub(resent) >= resendEvery {
				err = a.resend(ctx)
				resent = a.now()
			}
			if err == nil {
				err = a.look(ctx, fresh)
			}
		}
		if err == nil {
			seen = height
			err = a.conclude(ctx)
		}
		if (err != nil) != silent && ctx.Err() == nil {
			silent = err != nil
			log.Printf("the chain answers: %v (%v)", !silent, err)
		}
	}
}

// ticks yields at once and then each time the interval has passed.
func ticks(ctx context.Context, every time.Duration) func(func() bool) {
	return func(yield func() bool) {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for ctx.Err() == nil && yield() {
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}
}

// look brings the accounts up to date: those that wait for something, and after
// a new block all of them.
func (a *Auction) look(ctx context.Context, all bool) error {
	for trader, account := range a.store.View().Accounts {
		if all || account.Status != Open {
			if err := a.refresh(ctx, trader); err != nil {
				return err
			}
		}
	}
	return nil
}

// resend broadcasts again every batch that no block has taken yet: the chain
// forgets what waits when it stops, and nobody else has the transaction.
func (a *Auction) resend(ctx context.Context) error {
	for _, batch := range a.store.View().Batches {
		if batch.Confirmed {
			continue
		}
		known, confirmations, err := a.chain.Transaction(ctx, batch.Txid)
		switch {
		case err != nil:
			return err
		case confirmations > 0:
			err = a.confirmed(batch.ID)
		case known == nil:
			err = send(ctx, a.chain, batch.Tx)
			if refused(err) {
				log.Printf("batch %s: not broadcast again: %v", batch.ID, err)
				err = nil // there is a next time
			} else if err == nil {
				log.Printf("batch %s: broadcast again", batch.ID)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Auction) confirmed(id Key) error {
	log.Printf("batch %s: confirmed", id)
	return a.note(id, func(b *Batch) { b.Confirmed = true })
}
