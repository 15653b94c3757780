//go:build unix

package orphan

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waitForParent returns when the parent has ended: then this process has another one.
func waitForParent(parent int) {
	for os.Getppid() == parent && !isForeign(parent) {
		time.Sleep(period)
	}
}

// isForeign reports whether a process is of another session, as init is: it did not start this one, but got it from a
// parent that ended before this one could look. A process that leads a session cannot tell.
func isForeign(parent int) bool {
	own, _ := unix.Getsid(0) // it cannot fail
	session, err := unix.Getsid(parent)
	return own != os.Getpid() && (err != nil || session != own)
}
