package orphan

import "os"

// waitForParent returns when the parent has ended.
func waitForParent(parent int) {
	if process, err := os.FindProcess(parent); err == nil { // otherwise it has ended
		_, _ = process.Wait()
	}
}
