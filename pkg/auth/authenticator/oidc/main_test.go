package oidc

import (
	"os"
	"testing"
	"time"
)

// A slow machine is to be no reason for a failure.
func TestMain(m *testing.M) {
	FetchTimeout = 3 * time.Minute
	os.Exit(m.Run())
}
