package main

import (
	"context"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	"github.com/lightninglabs/pool/poolscript"
	"github.com/lightningnetwork/lnd/input"
	"github.com/lightningnetwork/lnd/keychain"
)

// session begins one MuSig2 signature. A session is never used twice: a nonce
// that signs two messages gives the key away.
func (a *Auction) session(ctx context.Context, native *account.Account) (
	*input.MuSig2SessionInfo, func(), error) {

	return poolscript.TaprootMuSig2SigningSession(
		ctx, native.Version.ScriptVersion(), native.Expiry,
		native.TraderKey.PubKey, native.BatchKey, native.Secret,
		native.AuctioneerKey, a.signer, &keychain.KeyLocator{}, nil,
	)
}

// signScript makes our half of a version 0 account's signatures, without the
// sighash byte, and returns the script that goes with it.
func (a *Auction) signScript(native *account.Account, tx *wire.MsgTx,
	position int, outputs txscript.PrevOutputFetcher) ([]byte, []byte, error) {

	script, err := poolscript.AccountWitnessScript(
		native.Expiry, native.TraderKey.PubKey, native.AuctioneerKey,
		native.BatchKey, native.Secret,
	)
	if err != nil {
		return nil, nil, err
	}
	key := input.TweakPrivKey(a.keys.Auctioneer, poolscript.AuctioneerKeyTweak(
		native.TraderKey.PubKey, native.AuctioneerKey, native.BatchKey,
		native.Secret,
	))
	hash, err := txscript.CalcWitnessSigHash(
		script, txscript.NewTxSigHashes(tx, outputs), txscript.SigHashAll, tx,
		position, int64(native.Value),
	)
	if err != nil {
		return nil, nil, err
	}
	return ecdsa.Sign(key, hash).Serialize(), script, nil
}

func fetcher(tx *wire.MsgTx,
	previous []*wire.TxOut) txscript.PrevOutputFetcher {

	outputs := txscript.NewMultiPrevOutFetcher(nil)
	for i, in := range tx.TxIn {
		outputs.AddPrevOut(in.PreviousOutPoint, previous[i])
	}
	return outputs
}
