package main

import (
	"bytes"
	"context"
	"time"

	"github.com/btcsuite/btcd/wire"
)

// changeGrace is how long an account waits for a change it was signed for,
// before it takes part in batches again. A trader that means it broadcasts
// within a second.
const changeGrace = 10 * time.Second

// observe returns an account as the chain has it now. It only reads; asked
// again it returns the same, until the chain moves.
//
// A change that we signed counts once its transaction is seen, no matter how
// late. Until then the account stays what it was: the trader may have failed
// right after our signature.
func observe(ctx context.Context, chain Chain, keys *Keys, a Account,
	now time.Time) (Account, error) {

	if a.Status == Reserved || a.Status == Closed {
		return a, nil
	}
	for i := len(a.Changes) - 1; i >= 0; i-- {
		change := a.Changes[i]
		tx, _, err := chain.Transaction(ctx, change.Txid)
		if err != nil {
			return a, err
		}
		if tx != nil {
			next := change.Next
			next.LatestTx = txBytes(tx)
			return observe(ctx, chain, keys, next, now)
		}
	}

	out, confirmations, err := chain.Output(ctx, a.OutPoint)
	if err != nil {
		return a, err
	}
	if out == nil {
		return missing(ctx, chain, a)
	}
	want, err := a.output(keys)
	if err != nil {
		return a, err
	}
	if out.Value != want.Value || !bytes.Equal(out.PkScript, want.PkScript) {
		return a, nil // not paid in as agreed: it never opens
	}
	if confirmations < 1 {
		return a, nil
	}
	switch a.Status {
	case Signed:
		if last := a.Changes[len(a.Changes)-1]; now.Before(
			last.Signed.Add(changeGrace)) {

			return a, nil
		}
		a.Status = Open
	case PendingOpen, PendingUpdate, PendingBatch:
		tx, _, err := chain.Transaction(ctx, a.OutPoint.Hash)
		if err != nil || tx == nil {
			return a, err
		}
		// What could still be signed for the output before is void now.
		a.Status, a.LatestTx, a.Changes = Open, txBytes(tx), nil
	}
	return a, nil
}

// missing returns an account whose output is not to be had: its transaction
// is not known to the chain, or a block has spent it.
func missing(ctx context.Context, chain Chain, a Account) (Account, error) {
	tx, _, err := chain.Transaction(ctx, a.OutPoint.Hash)
	if err != nil {
		return a, err
	}
	if tx != nil {
		// Nobody but the trader could have spent it without a change that we
		// signed or a batch, and only after it expired.
		height, err := chain.Height(ctx)
		if err == nil && a.expired(height) {
			a.Status, a.Value = Closed, 0
		}
		return a, err
	}
	// The chain forgets what waits when it stops. Batches are sent again by
	// their own loop; a change we saw once can be sent again here.
	if a.Status == PendingUpdate && len(a.LatestTx) > 0 {
		if err := send(ctx, chain, a.LatestTx); !refused(err) {
			return a, err
		} // what it spends may not be back yet; there is a next time
	}
	return a, nil
}

func send(ctx context.Context, chain Chain, raw []byte) error {
	tx, err := parseTx(raw)
	if err != nil {
		return err
	}
	return chain.Send(ctx, tx)
}

// spends says whether the transaction takes the account's output.
func spends(tx *wire.MsgTx, a Account) bool {
	for _, in := range tx.TxIn {
		if in.PreviousOutPoint == a.OutPoint {
			return true
		}
	}
	return false
}
