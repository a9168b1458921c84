//go:build tools

// Package tools names the programs that build.sh builds from this module.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
