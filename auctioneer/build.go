package main

import (
	"fmt"

	"github.com/btcsuite/btcd/btcutil/txsort"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/poolscript"
	"github.com/lightningnetwork/lnd/input"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
)

// minRevenue is the smallest output of our own; less goes to the miner.
const minRevenue = 1000

// Draft is one attempt at a batch.
type Draft struct {
	ID       Key
	Height   uint32
	Clearing Clearing
	Legs     map[Key]*Leg
	Tx       *wire.MsgTx
	Previous []*wire.TxOut // what Tx spends, in its order

	// Streams are all that have a part in the batch, and the version of each.
	Streams map[*Stream]order.BatchVersion
}

// Leg is one account's way through a batch.
type Leg struct {
	Before Account
	Tally  *order.AccountTally
	Input  int         // where the account is spent
	Output int32       // where it goes on; -1 when too little is left
	Next   *wire.TxOut // that output; nil when too little is left
	Expiry uint32      // from then on
	native *account.Account

	session   *input.MuSig2SessionInfo // of a taproot account
	signature []byte                   // the trader's
	nonces    poolscript.MuSig2Nonces  // the trader's
}

// state says what becomes of the account.
func (l *Leg) state() rpc.AccountDiff_AccountState {
	if l.Next == nil {
		return rpc.AccountDiff_OUTPUT_DUST_ADDED_TO_FEES
	}
	return rpc.AccountDiff_OUTPUT_RECREATED
}

// charges says whether an account takes part. There may be no batch at all.
func (d *Draft) charges(trader Key) bool {
	if d == nil {
		return false
	}
	_, ok := d.Legs[trader]
	return ok
}

// matches says whether an order takes part. There may be no batch at all.
func (d *Draft) matches(nonce Nonce) bool {
	if d == nil {
		return false
	}
	for _, m := range d.Clearing.Matches {
		if m.Ask.Nonce == nonce || m.Bid.Nonce == nonce {
			return true
		}
	}
	return false
}

// build makes the batch's transaction. What the traders pay beyond the miner's
// fee goes to the revenue script.
//
// Each attempt needs a txid of its own: the lnd of a sidecar's recipient keeps
// the pending channel of a failed attempt, and refuses the same outpoint again.
// A lock time in the past changes the txid and nothing else.
func (d *Draft) build(attempt uint32, fee chainfee.SatPerKWeight,
	revenue []byte) error {

	d.Tx = wire.NewMsgTx(2)
	d.Tx.LockTime = attempt % max(d.Height, 1)
	var (
		weight      input.TxWeightEstimator
		coming      int64
		going       int64
		spentBy     = map[wire.OutPoint]*Leg{}
		accountOuts = map[wire.OutPoint]*wire.TxOut{}
	)
	add := func(out *wire.TxOut) {
		d.Tx.AddTxOut(out)
		weight.AddOutput(out.PkScript)
		going += out.Value
	}
	for _, m := range d.Clearing.Matches {
		out, err := m.output()
		if err != nil {
			return err
		}
		add(out)
	}
	for trader, leg := range d.Legs {
		if leg.Tally.EndingBalance < 0 {
			return fmt.Errorf("account %s would go below zero", trader)
		}
		previous, err := leg.native.Output()
		if err != nil {
			return err
		}
		at := leg.Before.OutPoint
		d.Tx.AddTxIn(&wire.TxIn{PreviousOutPoint: at})
		accountOuts[at], spentBy[at] = previous, leg
		coming += previous.Value
		if leg.native.Version == account.VersionInitialNoVersion {
			weight.AddWitnessInput(poolscript.MultiSigWitnessSize)
		} else {
			weight.AddTaprootKeySpendInput(txscript.SigHashDefault)
		}
		if leg.Tally.EndingBalance < order.MinNoDustAccountSize {
			continue
		}
		after := *leg.native
		after.Expiry = leg.Expiry
		script, err := after.NextOutputScript()
		if err != nil {
			return err
		}
		leg.Next = wire.NewTxOut(int64(leg.Tally.EndingBalance), script)
		add(leg.Next)
	}
	weight.AddP2WKHOutput()
	left := coming - going - int64(fee.FeeForWeight(weight.Weight()))
	if left >= minRevenue {
		d.Tx.AddTxOut(wire.NewTxOut(left, revenue))
		going += left
	}
	// A node relays nothing under one satoshi a virtual byte.
	if relayed := int64(weight.Weight()+3) / 4; coming-going < relayed {
		return fmt.Errorf("the miner would get %d sat, under the %d that a "+
			"node relays: raise the batch fee", coming-going, relayed)
	}
	txsort.InPlaceSort(d.Tx)
	d.Previous = make([]*wire.TxOut, len(d.Tx.TxIn))
	for i, in := range d.Tx.TxIn {
		d.Previous[i] = accountOuts[in.PreviousOutPoint]
		spentBy[in.PreviousOutPoint].Input = i
	}
	for _, leg := range d.Legs {
		leg.Output = -1
		if leg.Next != nil {
			index, _ := poolscript.LocateOutputScript(d.Tx, leg.Next.PkScript)
			leg.Output = int32(index)
		}
	}
	return nil
}

// output returns the channel's output of a match.
func (m Match) output() (*wire.TxOut, error) {
	kind, _ := order.DetermineCommitmentType(m.Ask.kit(), m.Bid.kit())
	return poolscript.FundingOutput(kind, m.Ask.channelKey[:],
		m.Bid.channelKey[:],
		int64(m.Units.ToSatoshis()+m.Bid.bid.SelfChanBalance))
}
