package webhook

import (
	"io"
	"log"
	"os"
	"testing"
)

// The log is told of each webhook that fails, which here they do on purpose.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}
