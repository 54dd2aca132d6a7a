//go:build tools

// Package tools pins the programs of this set.
package tools

import (
	_ "filippo.io/age/cmd/age"
	_ "filippo.io/age/cmd/age-keygen"
)
