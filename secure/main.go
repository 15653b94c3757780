// Command secure makes what make secure needs: an authority, certificates, tokens, and a
// kubeconfig with a context for each user.
package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The files in the folder.
const (
	caFile         = "ca.crt"
	serverCert     = "apiserver.crt"
	serverKey      = "apiserver.key"
	adminCert      = "admin.crt"
	adminKey       = "admin.key"
	tokensFile     = "tokens.csv"
	kubeconfigFile = "kubeconfig"

	frontProxyCA   = "front-proxy-ca.crt" // what follows is made if this is not there
	aggregatorCert = "aggregator.crt"
	aggregatorKey  = "aggregator.key"
	extensionCert  = "extension.crt"
	extensionKey   = "extension.key"
	reviewsFile    = "reviews.kubeconfig"
)

// Files that a user may change: they are not written again.
var (
	//go:embed audit-policy.yaml
	examples     embed.FS
	exampleFiles = []string{"audit-policy.yaml"}
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. Its errors tell nothing of what is in a file.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("secure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "data/secure", "the folder of the files")
	port := flags.Uint("port", 6443, "the port of the server, for the kubeconfig")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *port > 65535 {
		fmt.Fprintln(stderr, "secure: arguments are not taken, and a port is at most 65535")
		return 2
	}
	users, err := prepare(*dir, *port)
	if err != nil {
		fmt.Fprintf(stderr, "secure: %v\n", err)
		return 1
	}
	fmt.Fprintf(stdout, "kubectl --kubeconfig %q --context NAME asks the server as one of these: %q\n", filepath.Join(*dir, kubeconfigFile), users)
	return 0
}

// prepare makes the folder if it is not there, and the kubeconfig anew, whose port may be
// another one. It returns the names of the contexts.
func prepare(dir string, port uint) ([]string, error) {
	_, err := os.Stat(filepath.Join(dir, tokensFile))
	if os.IsNotExist(err) {
		err = makeOnce(dir)
	}
	if err == nil {
		err = makeAggregation(dir)
	}
	if err == nil {
		err = writeExamples(dir)
	}
	if err != nil {
		return nil, err
	}
	tokens, err := readTokens(filepath.Join(dir, tokensFile))
	if err != nil {
		return nil, err
	}
	return writeKubeconfig(dir, port, tokens)
}

// makeOnce makes the folder with all that lasts, or nothing. The folder may be there if it is empty.
func makeOnce(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(parent, filepath.Base(dir)+".new-") // for its owner only
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }() // it is gone, unless something has failed
	if err := makeCertificates(made); err != nil {
		return err
	}
	if err := makeTokens(filepath.Join(made, tokensFile)); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err // it is not empty
		}
	}
	return os.Rename(made, dir)
}

// writeExamples writes those examples that are not there.
func writeExamples(dir string) error {
	for _, name := range exampleFiles {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			continue
		}
		text, err := examples.ReadFile(name)
		if err == nil {
			err = writeFile(path, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file for its owner only.
func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }
