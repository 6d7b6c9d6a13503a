//go:build tools

// Package tools pins the commands that the test stack builds from this module.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
