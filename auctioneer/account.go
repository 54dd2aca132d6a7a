package main

import (
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightningnetwork/lnd/keychain"
)

// Status says where an account stands.
//
//	reserved -> pending_open -> open <-> signed -> pending_update -> open
//	                            open -> pending_batch -> open
//	                            signed | pending_batch -> closed
type Status string

const (
	// Reserved: the trader has our keys, and has not paid in yet.
	Reserved Status = "reserved"

	// PendingOpen: paid in, not confirmed.
	PendingOpen Status = "pending_open"

	// Open: confirmed; the only status that takes part in batches.
	Open Status = "open"

	// Signed: the trader has our signature for a change of the account, and
	// nobody knows yet whether the change will be broadcast.
	Signed Status = "signed"

	// PendingUpdate: the change was seen and is not confirmed.
	PendingUpdate Status = "pending_update"

	// PendingBatch: changed by a batch that is not confirmed.
	PendingBatch Status = "pending_batch"

	// Closed: spent without a successor.
	Closed Status = "closed"
)

// Account is one trader's account. A record is never changed in place.
type Account struct {
	Trader     Key             `json:"trader"`
	BatchKey   Key             `json:"batch_key"`
	Value      btcutil.Amount  `json:"value"`
	Expiry     uint32          `json:"expiry"`
	Version    account.Version `json:"version"`
	Status     Status          `json:"status"`
	HeightHint uint32          `json:"height_hint"`
	OutPoint   wire.OutPoint   `json:"outpoint"`
	LatestTx   Blob            `json:"latest_tx,omitempty"`

	// Changes are the changes that the trader has our signature for. Any of
	// them may be broadcast, even long after it looked abandoned.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a signed change of an account.
type Change struct {
	Txid   chainhash.Hash `json:"txid"`
	Signed time.Time      `json:"signed"`
	Next   Account        `json:"next"`
}

// expired says whether the trader could spend the account without us.
func (a Account) expired(height uint32) bool {
	return a.Expiry != 0 && height >= a.Expiry
}

// native returns the account as pool's own type, which knows every rule about
// keys and scripts. The secret is what trader and auctioneer share.
func (a Account) native(keys *Keys) (*account.Account, error) {
	trader, err := a.Trader.point()
	if err != nil {
		return nil, err
	}
	batch, err := a.BatchKey.point()
	if err != nil {
		return nil, err
	}
	secret, err := sharedSecret(keys.Auctioneer, trader)
	if err != nil {
		return nil, err
	}
	return &account.Account{
		Value:         a.Value,
		Expiry:        a.Expiry,
		TraderKey:     &keychain.KeyDescriptor{PubKey: trader},
		AuctioneerKey: keys.Auctioneer.PubKey(),
		BatchKey:      batch,
		Secret:        secret,
		// Copying an account in any other state needs its transaction.
		State:    account.StateInitiated,
		Version:  a.Version,
		OutPoint: a.OutPoint,
	}, nil
}

// output returns the output that holds the account's coins.
func (a Account) output(keys *Keys) (*wire.TxOut, error) {
	native, err := a.native(keys)
	if err != nil {
		return nil, err
	}
	return native.Output()
}

// sharedSecret returns the hash of the point that both keys lead to, as lnd
// derives it on the trader's side.
func sharedSecret(ours *btcec.PrivateKey, theirs *btcec.PublicKey) ([32]byte,
	error) {

	return (&keychain.PrivKeyECDH{PrivKey: ours}).ECDH(theirs)
}

// wire returns the account as the trader's recovery wants it.
func (a Account) wire(keys *Keys, height uint32) *rpc.AuctionAccount {
	states := map[Status]rpc.AuctionAccountState{
		PendingOpen:   rpc.AuctionAccountState_STATE_PENDING_OPEN,
		Open:          rpc.AuctionAccountState_STATE_OPEN,
		Signed:        rpc.AuctionAccountState_STATE_OPEN,
		PendingUpdate: rpc.AuctionAccountState_STATE_PENDING_UPDATE,
		PendingBatch:  rpc.AuctionAccountState_STATE_PENDING_BATCH,
		Closed:        rpc.AuctionAccountState_STATE_CLOSED,
	}
	state := states[a.Status]
	switch {
	case !a.expired(height):
	case a.Status == Open || a.Status == Signed:
		state = rpc.AuctionAccountState_STATE_EXPIRED
	case a.Status == PendingUpdate || a.Status == PendingBatch:
		state = rpc.AuctionAccountState_STATE_EXPIRED_PENDING_UPDATE
	}
	return &rpc.AuctionAccount{
		Value:         uint64(a.Value),
		Expiry:        a.Expiry,
		TraderKey:     a.Trader[:],
		AuctioneerKey: keys.Auctioneer.PubKey().SerializeCompressed(),
		BatchKey:      a.BatchKey[:],
		State:         state,
		HeightHint:    a.HeightHint,
		Outpoint: &rpc.OutPoint{
			Txid: a.OutPoint.Hash[:], OutputIndex: a.OutPoint.Index,
		},
		LatestTx: a.LatestTx,
		Version:  uint32(a.Version),
	}
}
