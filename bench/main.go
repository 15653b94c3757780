// Command bench measures the apiserver: the real program, over loopback, beside
// a bare net/http handler that sends the same bytes and beside go-etcd used
// directly. Both sides of a row are measured in turn in one run, so that the
// ratios hold on a noisy machine. It prints a table and writes
// docs/performance.md and its plot, and sizes in the README.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
	"kube2014/bench/size"
)

// limit is how long the benchmark may take.
const limit = 15 * time.Minute

// runs is how often each side of a row is measured; the table has the medians.
const runs = 5

func main() {
	program := flag.String("apiserver", "bin/apiserver", "the program to measure")
	docs := flag.String("docs", "docs", "where performance.md and its plot are written; empty: nowhere")
	only := flag.String("only", "", "measure only these groups, and write nothing: start, memory, post, sync, watch, nodes, etcd, parts, workloads")
	bare := flag.String("bare", "", "serve this file with a bare handler; the benchmark starts itself so")
	transact := flag.String("transact", "", "serve POSTs with a bare handler that makes a transaction on this etcd; likewise")
	relay := flag.String("relay", "", "pass on what comes to this address; likewise")
	flag.Parse()
	if *bare != "" {
		measure.Exit(serveBare(*bare))
	}
	if *transact != "" {
		measure.Exit(serveTransactions(*transact))
	}
	if *relay != "" {
		measure.Exit(serveRelay(*relay))
	}
	measure.Exit(measureAll(*program, *docs, *only))
}

// A group measures some rows, which share their servers.
var groups = []struct {
	name    string
	measure func(*bench) error
}{
	{"start", measureStart},
	{"memory", measureMemory},
	{"post", measurePosts},
	{"sync", measureSync},
	{"watch", measureWatch},
	{"nodes", measureNodeWatches},
	{"etcd", measureEtcd},
	{"parts", measureParts},
	{"workloads", measureWorkloads},
}

// bench is one run of the benchmark.
type bench struct {
	*measure.Run        // closed after each group
	program      string // the apiserver
	rows         []row
	sizes        size.Sizes
	start        float64      // to the first answer, in milliseconds
	plot         measure.Plot // of POSTs
}

func measureAll(program, docs, only string) error {
	if _, err := exec.LookPath(program); err != nil {
		return err
	}
	return measure.Within(limit, func(run *measure.Run) error {
		b := &bench{Run: run, program: program}
		for _, group := range groups {
			if only != "" && !strings.Contains(only, group.name) {
				continue
			}
			fmt.Fprintf(os.Stderr, "measuring %s ...\n", group.name)
			err := group.measure(b)
			b.Close()
			if err != nil {
				return fmt.Errorf("%s: %w", group.name, err)
			}
		}
		fmt.Print(table(b.rows))
		if docs == "" || only != "" {
			return nil
		}
		return writeReport(filepath.Clean(docs), b)
	})
}
