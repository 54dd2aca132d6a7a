package main

import (
	"context"
	"errors"

	"github.com/btcsuite/btcd/btcjson"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// Chain is all the auctioneer sees of the world.
//
// An error means that the chain did not answer, unless it is a Refusal.
type Chain interface {
	// Height returns the number of the newest block.
	Height(ctx context.Context) (uint32, error)

	// Output returns an output that no block has spent, and in how many
	// blocks it is (none while its transaction waits); nil when there is none.
	Output(ctx context.Context, at wire.OutPoint) (*wire.TxOut, int64, error)

	// Transaction returns a transaction that is waiting or in a block, and in
	// how many blocks it is; nil when the chain has never heard of it.
	Transaction(ctx context.Context, txid chainhash.Hash) (*wire.MsgTx, int64,
		error)

	// Send hands a transaction to the chain. Sending it again does no harm.
	Send(ctx context.Context, tx *wire.MsgTx) error
}

// Refusal is the chain's answer that a transaction cannot be had.
type Refusal struct {
	Code   btcjson.RPCErrorCode
	Reason string
}

func (r *Refusal) Error() string { return "the chain refuses: " + r.Reason }

func refused(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}
