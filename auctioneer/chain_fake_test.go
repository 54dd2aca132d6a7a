package main

import (
	"context"
	"errors"
	"sync"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
)

// fakeChain is a chain in memory. Like btcd it forgets what waits when it is
// restarted, and does not take off what waiting transactions spend.
type fakeChain struct {
	mu      sync.Mutex
	height  uint32
	mined   map[chainhash.Hash]int64 // the block it is in
	txs     map[chainhash.Hash]*wire.MsgTx
	waiting map[chainhash.Hash]*wire.MsgTx
	spent   map[wire.OutPoint]bool // by a block

	away    bool        // does not answer
	refuses bool        // refuses whatever it is sent
	onSend  func() bool // called before a transaction is taken; false: lost
}

var _ Chain = (*fakeChain)(nil)

var errAway = errors.New("the chain is away")

func newFakeChain() *fakeChain {
	return &fakeChain{
		height: 1000, mined: map[chainhash.Hash]int64{},
		txs:     map[chainhash.Hash]*wire.MsgTx{},
		waiting: map[chainhash.Hash]*wire.MsgTx{},
		spent:   map[wire.OutPoint]bool{},
	}
}

func (c *fakeChain) Height(context.Context) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return 0, errAway
	}
	return c.height, nil
}

func (c *fakeChain) Output(_ context.Context, at wire.OutPoint) (*wire.TxOut,
	int64, error) {

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, 0, errAway
	}
	tx, confirmations := c.find(at.Hash)
	if tx == nil || c.spent[at] || int(at.Index) >= len(tx.TxOut) {
		return nil, 0, nil
	}
	return tx.TxOut[at.Index], confirmations, nil
}

func (c *fakeChain) Transaction(_ context.Context, txid chainhash.Hash) (
	*wire.MsgTx, int64, error) {

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, 0, errAway
	}
	tx, confirmations := c.find(txid)
	return tx, confirmations, nil
}

func (c *fakeChain) find(txid chainhash.Hash) (*wire.MsgTx, int64) {
	if tx := c.txs[txid]; tx != nil {
		return tx, int64(c.height) - c.mined[txid] + 1
	}
	return c.waiting[txid], 0
}

func (c *fakeChain) Send(_ context.Context, tx *wire.MsgTx) error {
	if c.onSend != nil && !c.onSend() {
		return errAway
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.away:
		return errAway
	case c.refuses:
		return &Refusal{Reason: "told to refuse"}
	}
	return c.accept(tx)
}

// accept checks a transaction with the real script engine.
func (c *fakeChain) accept(tx *wire.MsgTx) error {
	if known, _ := c.find(tx.TxHash()); known != nil {
		return nil
	}
	if tx.LockTime > c.height {
		return &Refusal{Reason: "not final"}
	}
	previous := make([]*wire.TxOut, len(tx.TxIn))
	for i, in := range tx.TxIn {
		at := in.PreviousOutPoint
		from, _ := c.find(at.Hash)
		if from == nil || c.spent[at] || c.claimed(at) {
			return &Refusal{Reason: "an input is missing or spent"}
		}
		previous[i] = from.TxOut[at.Index]
	}
	outputs := fetcher(tx, previous)
	hashes := txscript.NewTxSigHashes(tx, outputs)
	for i, out := range previous {
		engine, err := txscript.NewEngine(out.PkScript, tx, i,
			txscript.StandardVerifyFlags, nil, hashes, out.Value, outputs)
		if err != nil || engine.Execute() != nil {
			return &Refusal{Reason: "a signature is wrong"}
		}
	}
	c.waiting[tx.TxHash()] = tx
	return nil
}

func (c *fakeChain) claimed(at wire.OutPoint) bool {
	for _, tx := range c.waiting {
		if spends(tx, Account{OutPoint: at}) {
			return true
		}
	}
	return false
}

// mine puts everything that waits into a block.
func (c *fakeChain) mine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.height++
	for txid, tx := range c.waiting {
		c.txs[txid], c.mined[txid] = tx, int64(c.height)
		for _, in := range tx.TxIn {
			c.spent[in.PreviousOutPoint] = true
		}
	}
	clear(c.waiting)
}

// forget loses what waits, as a restart of btcd does.
func (c *fakeChain) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.waiting)
}

// pay makes an output out of nothing; it waits for a block.
func (c *fakeChain) pay(out *wire.TxOut) wire.OutPoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	tx := wire.NewMsgTx(2)
	tx.LockTime = uint32(len(c.txs) + len(c.waiting)) // a txid of its own
	tx.AddTxIn(&wire.TxIn{PreviousOutPoint: wire.OutPoint{Index: 1}})
	tx.AddTxOut(out)
	c.waiting[tx.TxHash()] = tx
	return wire.OutPoint{Hash: tx.TxHash()}
}

func (c *fakeChain) set(change func(*fakeChain)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}
