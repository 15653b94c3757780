package main

import (
	"os"
	"runtime/debug"
)

const (
	gcPercent   = 20
	ballastSize = 64 << 20
)

// tuneCollector tunes the garbage collector for a heap of long-lived objects. A
// low percentage limits the garbage when there are many. The ballast that it
// returns keeps the collector from running all the time when there are few: it
// counts as heap but takes no memory, because nothing touches it. The caller
// keeps it alive. GOGC overrides all this.
func tuneCollector() (ballast []byte) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(gcPercent)
	return make([]byte, ballastSize)
}
