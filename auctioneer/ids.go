package main

import (
	"encoding/hex"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
)

// Key is a compressed public key. Accounts, batches and the recipients of
// sidecar channels are known by one.
type Key [33]byte

// parseKey returns the key, and refuses bytes that are no point of the curve.
func parseKey(raw []byte) (Key, error) {
	var key Key
	if len(raw) != len(key) {
		return key, fmt.Errorf("a key has %d bytes, not %d", len(key), len(raw))
	}
	if _, err := btcec.ParsePubKey(raw); err != nil {
		return key, fmt.Errorf("%x is not a public key", raw)
	}
	copy(key[:], raw)
	return key, nil
}

func keyOf(point *btcec.PublicKey) (key Key) {
	copy(key[:], point.SerializeCompressed())
	return key
}

// point returns the key as a point; keys are checked where they come in.
func (k Key) point() (*btcec.PublicKey, error) { return btcec.ParsePubKey(k[:]) }

// String returns enough of the key to tell it from others in a log.
func (k Key) String() string { return hex.EncodeToString(k[:6]) }

// Hex returns the whole key.
func (k Key) Hex() string { return hex.EncodeToString(k[:]) }

func (k Key) MarshalText() ([]byte, error) { return []byte(k.Hex()), nil }

func (k *Key) UnmarshalText(text []byte) error { return unhex(k[:], text) }

// Nonce names an order: the hash of a number that only its trader knows.
type Nonce [32]byte

func parseNonce(raw []byte) (Nonce, error) {
	var nonce Nonce
	if len(raw) != len(nonce) {
		return nonce, fmt.Errorf("an order nonce has %d bytes, not %d",
			len(nonce), len(raw))
	}
	copy(nonce[:], raw)
	return nonce, nil
}

// String returns enough of the nonce to tell it from others in a log.
func (n Nonce) String() string { return hex.EncodeToString(n[:6]) }

// Hex returns the whole nonce.
func (n Nonce) Hex() string { return hex.EncodeToString(n[:]) }

func (n Nonce) MarshalText() ([]byte, error) { return []byte(n.Hex()), nil }

func (n *Nonce) UnmarshalText(text []byte) error { return unhex(n[:], text) }

// Blob is a byte string that is written as hex.
type Blob []byte

func (b Blob) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString(b)), nil
}

func (b *Blob) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func unhex(into, text []byte) error {
	if hex.DecodedLen(len(text)) != len(into) {
		return fmt.Errorf("%q should have %d hex digits", text, 2*len(into))
	}
	_, err := hex.Decode(into, text)
	return err
}
