//go:build tools

// Package tools pins promtool, which tries the alert rules. It is built without service discovery (tag
// remove_all_sd): rules need none, and a module of it is not to be had everywhere.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
