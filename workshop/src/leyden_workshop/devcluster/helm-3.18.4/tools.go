//go:build tools

// Package tools pins the programs of this set.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
