package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/lndclient"
	"github.com/lightningnetwork/lnd/input"
	"github.com/lightningnetwork/lnd/keychain"
)

// fakeLnd is as much of an lnd as a trader's batches need: keys from a name,
// and signatures with them.
type fakeLnd struct {
	lndclient.WalletKitClient

	name string
	mu   sync.Mutex
	next map[int32]uint32
}

func newFakeLnd(name string) *fakeLnd {
	return &fakeLnd{name: name, next: map[int32]uint32{}}
}

func (l *fakeLnd) private(at keychain.KeyLocator) *btcec.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", l.name, at.Family,
		at.Index))
	key, _ := btcec.PrivKeyFromBytes(seed[:])
	return key
}

// node returns the key that the node is known by.
func (l *fakeLnd) node() (key Key) {
	return keyOf(l.private(keychain.KeyLocator{Family: 6}).PubKey())
}

// fakeNode is that lnd's main service.
type fakeNode struct {
	lndclient.LightningClient

	lnd *fakeLnd
}

func (n fakeNode) GetInfo(context.Context) (*lndclient.Info, error) {
	return &lndclient.Info{
		IdentityPubkey: n.lnd.node(),
		Uris:           []string{n.lnd.node().Hex() + "@127.0.0.1:9735"},
	}, nil
}

func (l *fakeLnd) DeriveKey(_ context.Context, at *keychain.KeyLocator) (
	*keychain.KeyDescriptor, error) {

	return &keychain.KeyDescriptor{
		KeyLocator: *at, PubKey: l.private(*at).PubKey(),
	}, nil
}

func (l *fakeLnd) DeriveNextKey(ctx context.Context, family int32) (
	*keychain.KeyDescriptor, error) {

	l.mu.Lock()
	defer l.mu.Unlock()
	l.next[family]++
	return l.DeriveKey(ctx, &keychain.KeyLocator{
		Family: keychain.KeyFamily(family), Index: l.next[family],
	})
}

// fakeSigner is that lnd's signer. Its MuSig2 is the one under test, in the
// other role.
type fakeSigner struct {
	*signer

	lnd *fakeLnd
}

func newFakeSigner(lnd *fakeLnd) *fakeSigner {
	return &fakeSigner{
		signer: newSigner(func(key *keychain.KeyDescriptor) (
			*btcec.PrivateKey, error) {

			return lnd.private(key.KeyLocator), nil
		}),
		lnd: lnd,
	}
}

func (s *fakeSigner) SignMessage(_ context.Context, message []byte,
	at keychain.KeyLocator, _ ...lndclient.SignMessageOption) ([]byte, error) {

	digest := sha256.Sum256(message)
	return ecdsa.Sign(s.lnd.private(at), digest[:]).Serialize(), nil
}

func (s *fakeSigner) VerifyMessage(_ context.Context, message, raw []byte,
	key [33]byte, _ ...lndclient.VerifyMessageOption) (bool, error) {

	return checkSignature(message, raw, key) == nil, nil
}

func (s *fakeSigner) DeriveSharedKey(_ context.Context,
	theirs *btcec.PublicKey, at *keychain.KeyLocator) ([32]byte, error) {

	return sharedSecret(s.lnd.private(*at), theirs)
}

func (s *fakeSigner) SignOutputRaw(_ context.Context, tx *wire.MsgTx,
	wanted []*lndclient.SignDescriptor, _ []*wire.TxOut) ([][]byte, error) {

	var signatures [][]byte
	for _, one := range wanted {
		key := input.TweakPrivKey(
			s.lnd.private(one.KeyDesc.KeyLocator), one.SingleTweak,
		)
		outputs := txscript.NewCannedPrevOutputFetcher(
			one.Output.PkScript, one.Output.Value,
		)
		hash, err := txscript.CalcWitnessSigHash(one.WitnessScript,
			txscript.NewTxSigHashes(tx, outputs), one.HashType, tx,
			one.InputIndex, one.Output.Value)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, ecdsa.Sign(key, hash).Serialize())
	}
	return signatures, nil
}
