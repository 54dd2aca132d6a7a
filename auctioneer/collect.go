package main

import (
	"context"
	"fmt"

	"github.com/btcsuite/btcd/txscript"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/poolscript"
	"github.com/lightningnetwork/lnd/input"
)

// collect has the channels negotiated and every account signed, and returns
// with a transaction that is valid.
func (a *Auction) collect(ctx context.Context, d *Draft) error {
	begin := &rpc.OrderMatchSignBegin{
		BatchId: d.ID[:], ServerNonces: map[string][]byte{},
	}
	for _, out := range d.Previous {
		begin.PrevOutputs = append(begin.PrevOutputs, &rpc.TxOut{
			Value: uint64(out.Value), PkScript: out.PkScript,
		})
	}
	for trader, leg := range d.Legs {
		if leg.native.Version == account.VersionInitialNoVersion {
			continue
		}
		session, forget, err := a.session(ctx, leg.native)
		if err != nil {
			return err
		}
		defer forget() // after a signature there is nothing left to forget
		leg.session = session
		begin.ServerNonces[trader.Hex()] = session.PublicNonce[:]
	}
	questions := map[*Stream]*rpc.ServerAuctionMessage{}
	for stream := range d.Streams {
		questions[stream] = &rpc.ServerAuctionMessage{
			Msg: &rpc.ServerAuctionMessage_Sign{Sign: begin},
		}
	}
	answers, err := a.round(ctx, "sign", d, questions, a.patience.Sign,
		func(m *rpc.ClientAuctionMessage) bool { return m.GetSign() != nil })
	if err != nil {
		return err
	}
	for stream, answer := range answers {
		for trader, leg := range d.Legs {
			signature, ok := answer.GetSign().AccountSigs[trader.Hex()]
			if ok && a.crowd.proved(stream, trader) {
				leg.signature = signature
				copy(leg.nonces[:],
					answer.GetSign().TraderNonces[trader.Hex()])
			}
		}
	}
	for trader, leg := range d.Legs {
		if err := a.witness(ctx, d, leg); err != nil {
			return fmt.Errorf("account %s: %w", trader, err)
		}
	}
	return d.valid()
}

// witness joins the trader's signature with ours.
func (a *Auction) witness(ctx context.Context, d *Draft, leg *Leg) error {
	if leg.native.Version == account.VersionInitialNoVersion {
		ours, script, err := a.signScript(leg.native, d.Tx, leg.Input,
			fetcher(d.Tx, d.Previous))
		if err != nil {
			return err
		}
		// In a batch a trader leaves the sighash byte to us.
		all := byte(txscript.SigHashAll)
		d.Tx.TxIn[leg.Input].Witness = poolscript.SpendMultiSig(
			script, append(leg.signature, all), append(ours, all),
		)
		return nil
	}
	var theirs [input.MuSig2PartialSigSize]byte
	copy(theirs[:], leg.signature)
	whole, err := poolscript.TaprootMuSig2Sign(ctx, leg.Input, leg.session,
		a.signer, d.Tx, d.Previous, &leg.nonces, &theirs)
	if err != nil {
		return err
	}
	d.Tx.TxIn[leg.Input].Witness = poolscript.SpendMuSig2Taproot(whole)
	return nil
}

// valid runs every input through the script engine, as the chain will.
func (d *Draft) valid() error {
	outputs := fetcher(d.Tx, d.Previous)
	hashes := txscript.NewTxSigHashes(d.Tx, outputs)
	for i, out := range d.Previous {
		engine, err := txscript.NewEngine(out.PkScript, d.Tx, i,
			txscript.StandardVerifyFlags, nil, hashes, out.Value, outputs)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if err := engine.Execute(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	return nil
}
