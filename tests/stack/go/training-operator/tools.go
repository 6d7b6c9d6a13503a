//go:build tools

// Package tools pins the commands that the test stack builds from this module.
package tools

import (
	_ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
)
