//go:build tools

// Package tools pins the programs of this set.
package tools

import (
	_ "github.com/restic/restic/cmd/restic"
)
