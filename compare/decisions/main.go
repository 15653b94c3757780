// Command decisions asks today's kube-apiserver who may do what, with ABAC and with RBAC, and
// compares its answers with those that the tests of the authorizers know, or writes them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/auth/authorizer/authorizertest"
)

// limit is how long it may take.
const limit = 10 * time.Minute

var recordings = []struct {
	file string
	ask  func(context.Context, *recorder, *authorizertest.Recording) error
}{
	{"abac/testdata/decisions.json", askABAC},
	{"rbac/testdata/decisions.json", askRBAC},
}

func main() {
	programs := flag.String("programs", "bin", "the folder with kube-apiserver and etcd")
	folder := flag.String("authorizers", "pkg/auth/authorizer", "the folder with the authorizers and their recordings")
	only := flag.String("only", "", "only the recordings whose file names have this in them")
	write := flag.Bool("write", false, "write the answers instead of comparing them")
	flag.Parse()
	measure.Exit(measure.Within(limit, func(run *measure.Run) error {
		r := &recorder{Run: run, programs: *programs}
		for _, recording := range recordings {
			if !strings.Contains(recording.file, *only) {
				continue
			}
			if err := r.record(filepath.Join(*folder, recording.file), recording.ask, *write); err != nil {
				return err
			}
		}
		if file := "pkg/rest/flowcontrol/testdata/classes.json"; strings.Contains(file, *only) {
			return r.recordFlow(file, *write)
		}
		return nil
	}))
}

// recorder starts servers and asks them.
type recorder struct {
	*measure.Run
	programs string
}

func (r *recorder) record(file string, ask func(context.Context, *recorder, *authorizertest.Recording) error, write bool) error {
	recording, err := authorizertest.Read(file)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := ask(context.Background(), r, recording); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	after, err := recording.Text()
	if err != nil {
		return err
	}
	return settle(file, before, after, write)
}

// settle writes a recording, or compares it with the one before.
func settle(file string, before, after []byte, write bool) error {
	if write {
		return os.WriteFile(file, after, 0o644)
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("kube-apiserver answers otherwise than %s says:\n%s", file, differences(before, after))
	}
	fmt.Printf("%s: kube-apiserver answers the same\n", file)
	return nil
}

// differences lists the lines that are not the same.
func differences(before, after []byte) []byte {
	var text bytes.Buffer
	was, is := bytes.Split(before, []byte("\n")), bytes.Split(after, []byte("\n"))
	for i := range max(len(was), len(is)) {
		a, b := lineOf(was, i), lineOf(is, i)
		if !bytes.Equal(a, b) {
			fmt.Fprintf(&text, "line %d\n- %s\n+ %s\n", i+1, a, b)
		}
	}
	return text.Bytes()
}

func lineOf(lines [][]byte, i int) []byte {
	if i < len(lines) {
		return lines[i]
	}
	return nil
}
