package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Each returns the path of an etcd, and builds it when it is not there yet.
var (
	// Binary is the etcd that tools/go.mod pins, of 3.5: bin/etcd.
	Binary = built("etcd", "tools", "go.etcd.io/etcd/server/v3")
	// Binary36 is bin/etcd-3.6, without the v2 API.
	Binary36 = built("etcd-3.6", "tools/etcd3.6", "go.etcd.io/etcd/server/v3")

	binary34 = built("etcd-3.4", "tools/etcd3.4", "go.etcd.io/etcd")
)

// Binary34 is bin/etcd-3.4, of 3.4.13, or what KUBE2014_ETCD34 names, such as Debian's.
func Binary34() (string, error) {
	if named := os.Getenv("KUBE2014_ETCD34"); named != "" {
		return named, nil
	}
	return binary34()
}

// built returns a function for the program of a name in bin, built of a package that the
// go.mod in a folder pins.
func built(name, module, program string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		root, err := projectRoot()
		if err != nil {
			return "", err
		}
		binary := filepath.Join(root, "bin", name)
		if _, err := os.Stat(binary); err == nil {
			return binary, nil
		}
		// Another test may be building it too: the last rename wins, and all are the same.
		building := fmt.Sprintf("%s.%d", binary, os.Getpid())
		build := exec.Command("go", "build", "-modfile="+module+"/go.mod", "-o", building, program)
		build.Dir = root
		if output, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, output)
		}
		return binary, os.Rename(building, binary)
	})
}

// projectRoot is the folder of go.mod, from wherever in it a test runs.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod above the test")
		}
		dir = parent
	}
}

// Versions returns the versions of etcd that tests of the v3 API run on: 3.5, unless the tests
// are short 3.4, and with KUBE2014_ETCD36 in the environment 3.6.
func Versions() []string {
	versions := []string{"3.5"}
	if !testing.Short() {
		versions = append(versions, "3.4")
	}
	if os.Getenv("KUBE2014_ETCD36") != "" {
		versions = append(versions, "3.6")
	}
	return versions
}
