package main

import (
	"fmt"

	"github.com/btcsuite/btcd/chaincfg"
)

// networks is the whole list of chains this program can serve. There is no
// entry for mainnet or a public test network, and no other way to get one in:
// the keys here are not guarded well enough for coins of any worth.
var networks = map[string]*chaincfg.Params{
	"simnet":  &chaincfg.SimNetParams,
	"regtest": &chaincfg.RegressionNetParams,
}

func networkByName(name string) (*chaincfg.Params, error) {
	params, ok := networks[name]
	if !ok {
		return nil, fmt.Errorf("network %q is refused: only the private "+
			"chains simnet and regtest are served", name)
	}
	return params, nil
}
