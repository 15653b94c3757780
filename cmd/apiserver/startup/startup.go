// Package startup lets the heap grow to 8 MB before garbage is collected for the first time, in place of 4: what is made until
// the server is ready is hardly garbage. Its path comes before those of most libraries, as package help explains.
package startup

import (
	"runtime"
	"runtime/debug"
)

// firstPercent is the GOGC of the first cycle. Go's runtime begins it at 4 MB for a GOGC of 100, so at 8 MB for this one.
const firstPercent = 200

// percent is what the user set as GOGC. It is negative for off.
var percent = debug.SetGCPercent(firstPercent)

func init() {
	if percent < 0 || percent > firstPercent {
		debug.SetGCPercent(percent)
		return
	}
	// The first cycle finds it, as nothing refers to it.
	runtime.AddCleanup(&struct{ unused *int }{}, func(percent int) { debug.SetGCPercent(percent) }, percent)
}
