package options

import (
	"os"
	"testing"
	"time"

	"kube2014/pkg/auth/authenticator/oidc"
)

// A slow machine is to be no reason for a failure.
func TestMain(m *testing.M) {
	oidc.FetchTimeout = 3 * time.Minute
	os.Exit(m.Run())
}
