// Command compare measures the apiserver beside today's kube-apiserver on an etcd of its
// own: the same requests over loopback, by turns in one run, so that the ratios hold on a
// noisy machine. It checks both with the recorded kubectl commands, prints a table, and
// writes docs/compare.md and its plot.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
)

// limit is how long the comparison may take.
const limit = 15 * time.Minute

// runs is how often each side of a row is measured; the table has the medians.
const runs = 5

func main() {
	c := &comparison{}
	flag.StringVar(&c.programs, "programs", "bin", "the folder with apiserver, kube-apiserver, kubectl and etcd")
	flag.StringVar(&c.testdata, "sessions", "testdata/today/kubectl.json", "the recorded kubectl commands")
	docs := flag.String("docs", "docs", "where compare.md and its plot are written; empty: nowhere")
	only := flag.String("only", "", "measure only these groups, and write nothing: kubectl, start, writes, lists, reads, watch, secure")
	bare := flag.Bool("bare", false, "serve watches with a bare server; the comparison starts itself so")
	flag.Parse()
	if *bare {
		measure.Exit(serveBare())
	}
	measure.Exit(measure.Within(limit, func(run *measure.Run) error {
		c.Run = run
		if err := c.measure(*only); err != nil {
			return err
		}
		fmt.Print(c.kubectl, table(c.rows))
		if *docs == "" || *only != "" {
			return nil
		}
		return c.write(filepath.Clean(*docs))
	}))
}

// comparison is one run of the program.
type comparison struct {
	*measure.Run
	programs, testdata string
	kubectl            string // what the recorded commands have shown
	rows               []row
	plot               measure.Plot // of lists
}

// A group measures some rows. Those that load the servers begin with what the group before
// has left.
var groups = []struct {
	name    string
	measure func(*comparison, []*side) error
}{
	{"writes", measureWrites},
	{"lists", measureListSizes}, // leaves 10,000 pods
	{"reads", measureReads},
	{"watch", measureWatches},
	{"secure", measureSecure}, // stops the others
}

func (c *comparison) measure(only string) error {
	wanted := func(name string) bool {
		if only != "" && !strings.Contains(only, name) {
			return false
		}
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", name)
		return true
	}
	if wanted("kubectl") {
		if err := c.checkKubectl(); err != nil {
			return fmt.Errorf("kubectl: %w", err)
		}
	}
	sides, err := c.sides()
	if err != nil {
		return err
	}
	if wanted("start") {
		if err := measureStart(c, sides); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	for _, side := range sides {
		if err := c.start(side); err != nil {
			return err
		}
	}
	for _, group := range groups {
		if !wanted(group.name) {
			continue
		}
		if err := group.measure(c, sides); err != nil {
			return fmt.Errorf("%s: %w", group.name, err)
		}
	}
	return nil
}
