package main

import (
	"bytes"
	"context"
	"log"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
)

// minAccount is the smallest account poold opens.
const minAccount btcutil.Amount = 100_000

// ReserveAccount gives a trader what the account's script needs from us. A
// reservation that was never paid in is simply made anew.
func (a *Auction) ReserveAccount(ctx context.Context,
	r *rpc.ReserveAccountRequest) (*rpc.ReserveAccountResponse, error) {

	trader, err := parseKey(r.TraderKey)
	if err != nil {
		return nil, invalid("trader key: %v", err)
	}
	value := btcutil.Amount(r.AccountValue)
	if err := a.checkAccount(value, r.Version); err != nil {
		return nil, err
	}
	height, err := a.chain.Height(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if r.AccountExpiry <= height {
		return nil, invalid("the account would expire at block %d, and this "+
			"is %d", r.AccountExpiry, height)
	}
	var batchKey Key
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.store.Update(func(s *State) error {
		old, ok := s.Accounts[trader]
		if ok && old.Status != Reserved {
			return wrongState("account %s exists and is %s", trader, old.Status)
		}
		batchKey = s.NextBatch
		s.Accounts[trader] = Account{
			Trader: trader, BatchKey: batchKey, Value: value,
			Expiry: r.AccountExpiry, Version: account.Version(r.Version),
			Status: Reserved, HeightHint: height,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	log.Printf("account %s: reserved, %d sat, %v", trader, value,
		account.Version(r.Version))
	return &rpc.ReserveAccountResponse{
		AuctioneerKey:   a.keys.Auctioneer.PubKey().SerializeCompressed(),
		InitialBatchKey: batchKey[:],
	}, nil
}

// InitAccount records that a reserved account was paid in. poold says so again
// after each restart until the account is confirmed; that changes nothing.
func (a *Auction) InitAccount(_ context.Context,
	r *rpc.ServerInitAccountRequest) (*rpc.ServerInitAccountResponse, error) {

	trader, err := parseKey(r.TraderKey)
	if err != nil {
		return nil, invalid("trader key: %v", err)
	}
	at, err := outPoint(r.AccountPoint)
	if err != nil {
		return nil, err
	}
	value := btcutil.Amount(r.AccountValue)
	if err := a.checkAccount(value, r.Version); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.store.Update(func(s *State) error {
		next, ok := s.Accounts[trader]
		switch {
		case !ok:
			return notFound("account " + trader.Hex() + " was never reserved")
		case next.Status != Reserved:
			return nil
		}
		next.Value, next.Expiry = value, r.AccountExpiry
		next.Version = account.Version(r.Version)
		next.OutPoint, next.Status = at, PendingOpen
		want, err := next.output(a.keys)
		if err != nil {
			return err
		}
		if !bytes.Equal(want.PkScript, r.AccountScript) {
			return invalid("the account's script is %x and should be %x",
				r.AccountScript, want.PkScript)
		}
		s.Accounts[trader] = next
		log.Printf("account %s: reserved -> pending_open, %d sat (%s)",
			trader, value, r.UserAgent)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &rpc.ServerInitAccountResponse{}, nil
}

// checkAccount refuses sizes and kinds of accounts that we do not keep.
func (a *Auction) checkAccount(value btcutil.Amount, version uint32) error {
	if value < minAccount || value > a.terms.MaxAccount {
		return invalid("an account holds %d to %d sat, not %d",
			int64(minAccount), int64(a.terms.MaxAccount), int64(value))
	}
	if version > uint32(account.VersionMuSig2V100RC2) {
		return invalid("account version %d is not known", version)
	}
	return nil
}

func outPoint(point *rpc.OutPoint) (wire.OutPoint, error) {
	hash, err := chainhash.NewHash(point.GetTxid())
	if err != nil {
		return wire.OutPoint{}, invalid("an outpoint without a transaction id")
	}
	return wire.OutPoint{Hash: *hash, Index: point.OutputIndex}, nil
}
