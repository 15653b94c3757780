package webhook

import (
	"os"
	"testing"
	"time"
)

// A slow machine is to be no reason for a failure.
func TestMain(m *testing.M) {
	CallTimeout, AnswerTimeout = 3*time.Minute, 4*time.Minute
	os.Exit(m.Run())
}
