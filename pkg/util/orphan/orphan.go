// Package orphan ends a program that envtest of controller-runtime has started, and can no longer stop: a test that is killed,
// or that runs out of time, stops nothing.
package orphan

import (
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// folders is how envtest begins the names of the folders that it makes for its programs, and removes after them.
const folders = "k8s_test_framework_"

// period is how often the program looks whether its parent is still there.
const period = time.Second / 4

// End sends SIGTERM to a channel when the process has ended that started this one, if that is envtest: it has made the folder,
// which is an absolute path. A program calls it before it tells that it serves: who knows that may end at once, and in a
// container the next parent may look like the first one. The program calls the returned function when it ends: it removes the
// folder, as envtest would have done, if envtest cannot do it any more.
func End(folder string, signals chan<- os.Signal) (cleanUp func()) {
	if filepath.Dir(folder) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(filepath.Base(folder), folders) {
		return func() {}
	}
	signal.Ignore(syscall.SIGPIPE) // to log ends no program before it has removed the folder: the test may have read the log
	gone, parent := make(chan struct{}), os.Getppid()
	go func() {
		waitForParent(parent)
		log.Print("the test that started this program has ended without stopping it")
		close(gone)
		signals <- syscall.SIGTERM
	}()
	return func() {
		select {
		case <-gone:
			_ = os.RemoveAll(folder) // it has the keys of a test that is gone
		default:
		}
	}
}
