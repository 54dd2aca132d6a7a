package main

import (
	"crypto/sha256"
	"errors"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/lightningnetwork/lnd/lnwire"
)

// checkSignature verifies what lnd's SignMessage makes, over one SHA-256 of the
// message. lnd has sent DER for years; its documentation says 64 bytes.
func checkSignature(message, raw []byte, key Key) error {
	point, err := key.point()
	if err != nil {
		return err
	}
	signature, err := ecdsa.ParseDERSignature(raw)
	if err != nil && len(raw) == 64 {
		signature, err = fromFixedSize(raw)
	}
	if err != nil {
		return errors.New("the signature is malformed")
	}
	digest := sha256.Sum256(message)
	if !signature.Verify(digest[:], point) {
		return errors.New("the signature does not verify")
	}
	return nil
}

func fromFixedSize(raw []byte) (*ecdsa.Signature, error) {
	fixed, err := lnwire.NewSigFromWireECDSA(raw)
	if err != nil {
		return nil, err
	}
	return ecdsa.ParseDERSignature(fixed.ToSignatureBytes())
}
