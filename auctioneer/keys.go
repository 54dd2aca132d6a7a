package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/txscript"
)

// Keys are the secrets of one installation, random and never shared.
type Keys struct {
	// Auctioneer signs our half of every account.
	Auctioneer *btcec.PrivateKey

	// Revenue owns what traders pay beyond the miner's fee.
	Revenue *btcec.PrivateKey
}

// keyFile is how the keys are written.
type keyFile struct {
	Auctioneer Blob `json:"auctioneer"`
	Revenue    Blob `json:"revenue"`
}

// loadKeys reads the keys, or makes them when there are none yet. Accounts can
// only be spent with the key they were opened with, so a lost key file is not
// replaced while there are accounts.
func loadKeys(path string, mayCreate bool) (*Keys, error) {
	raw, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !mayCreate {
			return nil, fmt.Errorf("%s is missing, but there are accounts "+
				"that need it: put it back", path)
		}
		return createKeys(path)
	}
	if err != nil {
		return nil, err
	}
	var file keyFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("%s cannot be read as keys", path)
	}
	auctioneer, err := privateKey(file.Auctioneer)
	if err != nil {
		return nil, fmt.Errorf("%s: auctioneer: %w", path, err)
	}
	revenue, err := privateKey(file.Revenue)
	if err != nil {
		return nil, fmt.Errorf("%s: revenue: %w", path, err)
	}
	return &Keys{Auctioneer: auctioneer, Revenue: revenue}, nil
}

func createKeys(path string) (*Keys, error) {
	auctioneer, err := btcec.NewPrivateKey()
	if err != nil {
		return nil, err
	}
	revenue, err := btcec.NewPrivateKey()
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(keyFile{
		Auctioneer: auctioneer.Serialize(), Revenue: revenue.Serialize(),
	}, "", " ")
	if err != nil {
		return nil, err
	}
	if err := writeDurably(path, raw); err != nil {
		return nil, err
	}
	return &Keys{Auctioneer: auctioneer, Revenue: revenue}, nil
}

func privateKey(raw []byte) (*btcec.PrivateKey, error) {
	var scalar btcec.ModNScalar
	if len(raw) != btcec.PrivKeyBytesLen || scalar.SetByteSlice(raw) ||
		scalar.IsZero() {

		return nil, errors.New("not a private key")
	}
	return btcec.PrivKeyFromScalar(&scalar), nil
}

// revenueScript returns the output script that our income goes to.
func (k *Keys) revenueScript(params *chaincfg.Params) ([]byte, error) {
	hash := btcutil.Hash160(k.Revenue.PubKey().SerializeCompressed())
	address, err := btcutil.NewAddressWitnessPubKeyHash(hash, params)
	if err != nil {
		return nil, err
	}
	return txscript.PayToAddrScript(address)
}

// readPrivate reads a file of secrets, and refuses one that others may read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %04o): "+
			"chmod 600 it", path, info.Mode().Perm())
	}
	return os.ReadFile(path)
}
