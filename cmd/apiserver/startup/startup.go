// Package startup does what has to be done before the libraries are initialized, which takes longer than all else that a
// program does that is started for a short test. Of the packages whose imports are initialized, the first by its path is next
// (https://go.dev/ref/spec#Program_initialization). This one imports the standard library only, and most of Kubernetes'
// packages wait for one of sigs.k8s.io, whose path comes after ours.
package startup

import (
	_ "embed"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// KubeAPIServer is the name of the program in the place of today's server.
const KubeAPIServer = "kube-apiserver"

// What kube-apiserver --help prints.
//
//go:embed help.txt
var help string

// What the libraries make is kept, so there is nothing to collect yet.
var gcPercent = debug.SetGCPercent(-1)

// CollectGarbage is for the main package, which is initialized last: it sets the garbage collector as the user did.
func CollectGarbage() { debug.SetGCPercent(gcPercent) }

// Name returns the name of the program in a file.
func Name(file string) string { return strings.TrimSuffix(filepath.Base(file), ".exe") }

// Envtest asks for the help before each start, to see which flags there are.
func init() {
	if len(os.Args) == 2 && os.Args[1] == "--help" && Name(os.Args[0]) == KubeAPIServer {
		if _, err := os.Stdout.WriteString(help); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}
