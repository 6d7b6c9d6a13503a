//go:build tools

// Package tools pins the commands that the test stack builds from this module.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
