//go:build tools

// Package tools pins the programs of this set.
package tools

import (
	_ "github.com/lightninglabs/pool/cmd/pool"
	_ "github.com/lightninglabs/pool/cmd/poold"
)
