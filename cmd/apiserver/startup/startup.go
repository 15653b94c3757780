// Package startup lets the heap grow to 8 MB before garbage is collected for the first time, in place of 4: what is made until
// the server is ready is hardly garbage. Its path comes before those of most libraries, as package help explains.
package startup

import (
	"runtime"
	"runtime/debug"
)

// firstPercent is the GOGC of the first cycle: of 4 MB, as Go's runtime takes it for a heap of which nothing has been marked.
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
