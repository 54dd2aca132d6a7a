package main

import (
	"context"
	"log"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/txsort"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/poolscript"
)

// ModifyAccount signs our half of a deposit, withdrawal, renewal, upgrade or
// closure. Nothing has happened to the account yet: the trader may still fail.
// It counts once the transaction is seen (see observe).
func (a *Auction) ModifyAccount(ctx context.Context,
	r *rpc.ServerModifyAccountRequest) (*rpc.ServerModifyAccountResponse,
	error) {

	trader, err := parseKey(r.TraderKey)
	if err != nil {
		return nil, invalid("trader key: %v", err)
	}
	if err := a.refresh(ctx, trader); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before, ok := a.store.View().Accounts[trader]
	switch {
	case !ok:
		return nil, notFound("account " + trader.Hex() + " is not known")
	case before.Status == Signed:
		return nil, wrongState("the account has a change that is signed and "+
			"not broadcast; it is free again %v after the signature",
			changeGrace)
	case before.Status != Open:
		return nil, wrongState("the account is %s, not open", before.Status)
	case a.running.charges(trader):
		return nil, wrongState("the account takes part in a batch, try later")
	}
	tx, next, err := a.rebuild(before, r)
	if err != nil {
		return nil, err
	}
	answer, err := a.signChange(ctx, before, tx, r)
	if err != nil {
		return nil, err
	}
	after := before
	after.Status = Signed
	after.Changes = append(before.Changes[:len(before.Changes):len(before.Changes)], Change{
		Txid: tx.TxHash(), Signed: a.now().UTC(), Next: next,
	})
	err = a.store.Update(func(s *State) error {
		s.Accounts[trader] = after
		return nil
	})
	if err != nil {
		return nil, err // the signature stays here
	}
	log.Printf("account %s: signed a change to %s, %d sat, transaction %v",
		trader, next.Status, next.Value, tx.TxHash())
	return answer, nil
}

// rebuild makes the transaction that the trader wants to make, which comes
// without the account's own input and output, and the account after it.
func (a *Auction) rebuild(before Account, r *rpc.ServerModifyAccountRequest) (
	*wire.MsgTx, Account, error) {

	next := before
	next.Changes, next.LatestTx = nil, nil
	tx := wire.NewMsgTx(2)
	// The request carries no sequence numbers: both sides use 0.
	tx.AddTxIn(&wire.TxIn{PreviousOutPoint: before.OutPoint})
	for _, in := range r.NewInputs {
		at, err := outPoint(in.Outpoint)
		if err != nil {
			return nil, next, err
		}
		tx.AddTxIn(&wire.TxIn{
			PreviousOutPoint: at, SignatureScript: in.SigScript,
		})
	}
	for _, out := range r.NewOutputs {
		tx.AddTxOut(wire.NewTxOut(int64(out.Value), out.Script))
	}
	if r.NewParams == nil {
		next.Status, next.Value = Closed, 0
		txsort.InPlaceSort(tx)
		return tx, next, nil
	}

	next.Value = btcutil.Amount(r.NewParams.Value)
	next.Expiry = r.NewParams.Expiry
	next.Version = account.Version(r.NewParams.Version)
	if err := a.checkAccount(next.Value, r.NewParams.Version); err != nil {
		return nil, next, err
	}
	if next.Version < before.Version {
		return nil, next, invalid("an account is never downgraded")
	}
	batchKey, err := before.BatchKey.point()
	if err != nil {
		return nil, next, err
	}
	next.BatchKey = keyOf(poolscript.IncrementKey(batchKey))
	out, err := next.output(a.keys)
	if err != nil {
		return nil, next, err
	}
	tx.AddTxOut(out)
	txsort.InPlaceSort(tx)
	index, _ := poolscript.LocateOutputScript(tx, out.PkScript)
	next.OutPoint = wire.OutPoint{Hash: tx.TxHash(), Index: index}
	next.Status = PendingUpdate
	return tx, next, nil
}

// signChange signs the account's input of a change.
func (a *Auction) signChange(ctx context.Context, before Account,
	tx *wire.MsgTx, r *rpc.ServerModifyAccountRequest) (
	*rpc.ServerModifyAccountResponse, error) {

	if len(r.PrevOutputs) != len(tx.TxIn) {
		return nil, invalid("%d previous outputs came for %d inputs",
			len(r.PrevOutputs), len(tx.TxIn))
	}
	ours, err := before.output(a.keys)
	if err != nil {
		return nil, err
	}
	position, previous := 0, make([]*wire.TxOut, len(tx.TxIn))
	for i, in := range tx.TxIn {
		previous[i] = wire.NewTxOut(
			int64(r.PrevOutputs[i].Value), r.PrevOutputs[i].PkScript,
		)
		if in.PreviousOutPoint == before.OutPoint {
			position, previous[i] = i, ours
		}
	}
	native, err := before.native(a.keys)
	if err != nil {
		return nil, err
	}
	if native.Version == account.VersionInitialNoVersion {
		signature, _, err := a.signScript(native, tx, position,
			fetcher(tx, previous))
		if err != nil {
			return nil, err
		}
		// Here the trader wants the sighash byte; in a batch it does not
		// send it.
		return &rpc.ServerModifyAccountResponse{
			AccountSig: append(signature, byte(txscript.SigHashAll)),
		}, nil
	}
	var theirs poolscript.MuSig2Nonces
	if copy(theirs[:], r.TraderNonces) != len(theirs) {
		return nil, invalid("the trader's nonces are missing")
	}
	session, forget, err := a.session(ctx, native)
	if err != nil {
		return nil, err
	}
	partial, err := poolscript.TaprootMuSig2Sign(ctx, position, session,
		a.signer, tx, previous, &theirs, nil)
	if err != nil {
		forget()
		return nil, invalid("the change cannot be signed: %v", err)
	}
	return &rpc.ServerModifyAccountResponse{
		AccountSig: partial, ServerNonces: session.PublicNonce[:],
	}, nil
}
