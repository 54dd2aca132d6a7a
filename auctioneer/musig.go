package main

import (
	"context"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr/musig2"
	"github.com/lightninglabs/lndclient"
	"github.com/lightningnetwork/lnd/input"
	"github.com/lightningnetwork/lnd/keychain"
	"github.com/lightningnetwork/lnd/lnrpc/signrpc"
)

// signer stands in for the signer of an lnd. Pool's scripts ask for nothing but
// the MuSig2 calls; the others are not there.
type signer struct {
	lndclient.SignerClient

	sessions *input.MusigSessionManager
}

// newSigner returns a signer that finds the key of each session with keys.
func newSigner(keys input.PrivKeyFetcher) *signer {
	return &signer{sessions: input.NewMusigSessionManager(keys)}
}

// only finds the same key for every session.
func only(key *btcec.PrivateKey) input.PrivKeyFetcher {
	return func(*keychain.KeyDescriptor) (*btcec.PrivateKey, error) {
		return key, nil
	}
}

func (s *signer) MuSig2CreateSession(_ context.Context,
	version input.MuSig2Version, at *keychain.KeyLocator, signers [][]byte,
	options ...lndclient.MuSig2SessionOpts) (*input.MuSig2SessionInfo, error) {

	wanted := &signrpc.MuSig2SessionRequest{}
	for _, option := range options {
		option(wanted)
	}
	points, err := input.MuSig2ParsePubKeys(version, signers)
	if err != nil {
		return nil, err
	}
	tweaks := &input.MuSig2Tweaks{}
	if wanted.TaprootTweak != nil {
		tweaks.TaprootTweak = wanted.TaprootTweak.ScriptRoot
		tweaks.TaprootBIP0086Tweak = wanted.TaprootTweak.KeySpendOnly
	}
	nonces := make([][musig2.PubNonceSize]byte,
		len(wanted.OtherSignerPublicNonces))
	for i, raw := range wanted.OtherSignerPublicNonces {
		copy(nonces[i][:], raw)
	}
	return s.sessions.MuSig2CreateSession(
		version, *at, points, tweaks, nonces, nil,
	)
}

func (s *signer) MuSig2RegisterNonces(_ context.Context, session [32]byte,
	nonces [][musig2.PubNonceSize]byte) (bool, error) {

	return s.sessions.MuSig2RegisterNonces(session, nonces)
}

func (s *signer) MuSig2Sign(_ context.Context, session [32]byte,
	digest [32]byte, cleanup bool) ([]byte, error) {

	partial, err := s.sessions.MuSig2Sign(session, digest, cleanup)
	if err != nil {
		return nil, err
	}
	raw, err := input.SerializePartialSignature(partial)
	return raw[:], err
}

func (s *signer) MuSig2CombineSig(_ context.Context, session [32]byte,
	others [][]byte) (bool, []byte, error) {

	partials := make([]*musig2.PartialSignature, len(others))
	for i, raw := range others {
		partial, err := input.DeserializePartialSignature(raw)
		if err != nil {
			return false, nil, err
		}
		partials[i] = partial
	}
	whole, complete, err := s.sessions.MuSig2CombineSig(session, partials)
	if err != nil || !complete {
		return false, nil, err
	}
	return true, whole.Serialize(), nil
}

func (s *signer) MuSig2Cleanup(_ context.Context, session [32]byte) error {
	return s.sessions.MuSig2Cleanup(session)
}
