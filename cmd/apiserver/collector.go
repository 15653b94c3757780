package main

import (
	"os"
	"runtime/debug"
)

// gcPercent trades memory for time: the collector runs when the heap has grown by
// so much since it last ran.
const gcPercent = 75

// tuneCollector sets the garbage collector's percentage, unless GOGC does.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
