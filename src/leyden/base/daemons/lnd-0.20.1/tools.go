//go:build tools

// Package tools pins the programs of this set.
package tools

import (
	_ "github.com/lightningnetwork/lnd/cmd/lncli"
	_ "github.com/lightningnetwork/lnd/cmd/lnd"
)
