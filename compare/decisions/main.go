// Command decisions asks today's kube-apiserver who may do what, with ABAC, with RBAC and as a node, whom it takes the owners of
// tokens for, and on which priority level requests are. It compares its answers with those that the tests here know, or writes them.
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

// recordings are files, each with what asks all that is in it, and returns it with the answers.
var recordings = []struct {
	file string
	ask  func(ctx context.Context, r *recorder, file string) (after []byte, err error)
}{
	{"auth/authorizer/abac/testdata/decisions.json", decisions(askABAC)},
	{"auth/authorizer/rbac/testdata/decisions.json", decisions(askRBAC)},
	{"auth/authorizer/node/testdata/decisions.json", decisions(askNodes)},
	{"auth/authenticator/authenticatortest/testdata/tokens.json", askTokens},
	{"rest/flowcontrol/testdata/classes.json", askFlows},
}

// decisions adapts what asks about decisions of authorizers.
func decisions(ask func(context.Context, *recorder, *authorizertest.Recording) error) func(context.Context, *recorder, string) ([]byte, error) {
	return func(ctx context.Context, r *recorder, file string) ([]byte, error) {
		recording, err := authorizertest.Read(file)
		if err != nil {
			return nil, err
		}
		if err := ask(ctx, r, recording); err != nil {
			return nil, err
		}
		return recording.Text()
	}
}

func main() {
	programs := flag.String("programs", "bin", "the folder with kube-apiserver and etcd")
	folder := flag.String("packages", "pkg", "the folder with the packages that have the recordings")
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
		return nil
	}))
}

// recorder starts servers and asks them.
type recorder struct {
	*measure.Run
	programs string
}

func (r *recorder) record(file string, ask func(context.Context, *recorder, string) ([]byte, error), write bool) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := ask(context.Background(), r, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
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
