//go:build tools

// Package tools pins the programs of this set.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
