// Command bench measures the apiserver: the real program, over loopback, beside
// a bare net/http handler that sends the same bytes and beside go-etcd used
// directly. Both sides of a row are measured in turn in one run, so that the
// ratios hold on a noisy machine. It prints a table and writes
// docs/performance.md and its plots.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// limit is how long the benchmark may take.
const limit = 10 * time.Minute

// runs is how often each side of a row is measured; the table has the medians.
const runs = 5

func main() {
	program := flag.String("apiserver", "bin/apiserver", "the program to measure")
	docs := flag.String("docs", "docs", "where performance.md and its plots are written; empty: nowhere")
	only := flag.String("only", "", "measure only the rows of these groups: start, memory, post, lists, sync, watch, etcd")
	bare := flag.String("bare", "", "serve this file with a bare handler; the benchmark starts itself so")
	flag.Parse()
	if *bare != "" {
		exit(serveBare(*bare))
	}
	exit(measure(*program, *docs, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A group measures some rows, which share their servers.
var groups = []struct {
	name    string
	measure func(*bench) error
}{
	{"start", measureStart},
	{"memory", measureMemory},
	{"post", measurePosts},
	{"lists", measureListSizes},
	{"sync", measureSync},
	{"watch", measureWatch},
	{"etcd", measureEtcd},
}

// bench is one run of the benchmark.
type bench struct {
	program string // the apiserver
	dir     string // for files, deleted at the end
	rows    []row
	plots   []plot

	mu      sync.Mutex // guards closers
	closers []func()   // end what a group has started
}

func measure(program, docs, only string) error {
	if _, err := exec.LookPath(program); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{program: program, dir: dir}
	overdue := time.AfterFunc(limit, func() {
		b.close()
		exit(fmt.Errorf("not done after %v", limit))
	})
	defer overdue.Stop()
	for _, group := range groups {
		if only != "" && !strings.Contains(only, group.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", group.name)
		err := group.measure(b)
		b.close()
		if err != nil {
			return fmt.Errorf("%s: %w", group.name, err)
		}
	}
	fmt.Print(table(b.rows))
	if docs == "" || only != "" {
		return nil
	}
	return writeReport(filepath.Clean(docs), b)
}

// atEnd remembers how to end something that the group has started.
func (b *bench) atEnd(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closers = append(b.closers, f)
}

// close ends what a group has started, the latest first.
func (b *bench) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, end := range slices.Backward(b.closers) {
		end()
	}
	b.closers = nil
}
