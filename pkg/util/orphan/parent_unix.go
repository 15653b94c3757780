//go:build unix

package orphan

import (
	"os"
	"time"
)

// waitForParent returns when the parent has ended: then this process has another one.
func waitForParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(period)
	}
}
