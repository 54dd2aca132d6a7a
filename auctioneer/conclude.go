package main

import (
	"context"
	"log"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
)

// conclude sees to it that every poold that signed a batch has heard its end.
//
// One that has not still keeps the batch in memory, and takes the next batch for
// another try at it: it would throw away the channels of the first, even open
// ones. So it gets no other batch before, and is told late. When a block took
// the batch meanwhile, its database knows and its memory does not; then it
// stumbles over our word and ends itself, and is as new when it is started
// again. There is no other way to make it forget.
func (a *Auction) conclude(ctx context.Context) error {
	unheard := a.store.View().unheard()
	for stream, asks := range a.crowd.greetedAll() {
		batch, ok := unheard[stream.identity]
		if !ok {
			continue
		}
		_, confirmations, err := a.chain.Transaction(ctx, batch.Txid)
		if err != nil {
			return err
		}
		// As long as no block has the batch, one that has not heard of it
		// asks when it comes back: this one has heard, and it was us who
		// could not write that down.
		if asks == batch.ID || confirmations > 0 {
			log.Printf("batch %s: stream %d gets its end late", batch.ID,
				stream.id)
			if err := stream.send(finalize(batch.ID, batch.Txid)); err != nil {
				continue
			}
		}
		if err := a.heard(batch.ID, stream.identity); err != nil {
			return err
		}
	}
	return nil
}

// heard notes that poolds were told the end of a batch.
func (a *Auction) heard(id Key, identities ...string) error {
	return a.note(id, func(b *Batch) {
		b.Heard = append(slices.Clone(b.Heard), identities...)
	})
}

// stuck notes that a poold rejected a batch because of the batch before, whose
// end must have been lost on the way.
func (a *Auction) stuck(stream *Stream, reject *rpc.OrderMatchReject) error {
	if !strings.Contains(reject.Reason, "previous pending batch") {
		return nil
	}
	batches := a.store.View().Batches
	for i := len(batches) - 1; i >= 0; i-- {
		if !slices.Contains(batches[i].Signers, stream.identity) {
			continue
		}
		return a.note(batches[i].ID, func(b *Batch) {
			b.Heard = slices.DeleteFunc(slices.Clone(b.Heard),
				func(who string) bool { return who == stream.identity })
		})
	}
	return nil
}

// note changes the record of a final batch.
func (a *Auction) note(id Key, change func(*Batch)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.store.Update(func(s *State) error {
		for i := range s.Batches {
			if s.Batches[i].ID == id {
				change(&s.Batches[i])
			}
		}
		return nil
	})
}

// finalize tells a trader that the batch it signed is final.
func finalize(id Key, txid chainhash.Hash) *rpc.ServerAuctionMessage {
	return &rpc.ServerAuctionMessage{
		Msg: &rpc.ServerAuctionMessage_Finalize{
			Finalize: &rpc.OrderMatchFinalize{
				BatchId: id[:], BatchTxid: txid[:],
			},
		},
	}
}
