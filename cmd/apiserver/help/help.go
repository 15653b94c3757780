// Package help prints the help of kube-apiserver before the libraries are initialized, which takes longer than all else that
// a program does that is started for it. Of the packages whose imports are initialized, the first by its path is next
// (https://go.dev/ref/spec#Program_initialization): as this one imports hardly more than os, few others are before it.
package help

import (
	_ "embed"
	"os"
)

// KubeAPIServer is the name of the program in the place of today's server.
const KubeAPIServer = "kube-apiserver"

// What kube-apiserver --help prints.
//
//go:embed help.txt
var text string

// Name returns the name of the program in a file. Path/filepath would do it, but be initialized first, and all that it imports.
func Name(file string) string {
	start, end := 0, len(file)
	for i := range file {
		if os.IsPathSeparator(file[i]) {
			start = i + 1
		}
	}
	if dot := end - len(".exe"); dot >= start && file[dot:] == ".exe" {
		end = dot
	}
	return file[start:end]
}

// Envtest asks for the help before each start, to see which flags there are.
func init() {
	if len(os.Args) == 2 && os.Args[1] == "--help" && Name(os.Args[0]) == KubeAPIServer {
		if _, err := os.Stdout.WriteString(text); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}
