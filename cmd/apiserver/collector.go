package main

import (
	"os"
	"runtime/debug"
)

const (
	gcPercent   = 20
	ballastSize = 64 << 20
)

// tuneCollector makes the garbage collector fit a heap of objects that stay: when
// there are many, little garbage is to lie beside them; when there are few, it is
// not to run all the time. What it returns is to be kept: it counts as heap, but
// as nobody touches it the system gives it no memory. GOGC overrides all this.
func tuneCollector() (ballast []byte) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(gcPercent)
	return make([]byte, ballastSize)
}
