// Package startup keeps the garbage collector off while the libraries are initialized: its path comes before those of most of
// Kubernetes' packages, as package help explains.
package startup

import "runtime/debug"

// What the libraries make is kept, so there is nothing to collect yet.
var gcPercent = debug.SetGCPercent(-1)

// CollectGarbage is for the main package, which is initialized last: it sets the garbage collector as the user did.
func CollectGarbage() { debug.SetGCPercent(gcPercent) }
