//go:build tools

// Package tools pins the program of this set.
package tools

import (
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble"
)
