package webhook

import (
	"os"
	"testing"
	"time"

	"kube2014/pkg/webhook"
)

// A slow machine is to be no reason for a failure.
func TestMain(m *testing.M) {
	webhook.CallTimeout, webhook.AnswerTimeout = 3*time.Minute, 4*time.Minute
	os.Exit(m.Run())
}
