// Command scale measures servers of large clusters: it stands for the clients of up to 5,000 nodes with 30 pods each, while
// the servers run beside it on the same machine. It prints a table for each cluster, and writes docs/scale.md and its plots.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
)

// limit is how long a run may take.
const limit = 2 * time.Hour

func main() {
	s := &scaling{}
	flag.StringVar(&s.programs, "programs", "bin", "the folder with apiserver, kube-apiserver and etcd")
	apiserver := flag.String("apiserver", "", "the program to measure; empty: that in the folder")
	flag.IntVar(&s.nodes, "nodes", 5000, "of the largest cluster")
	flag.DurationVar(&s.minute, "minute", time.Minute, "how long each cluster is measured; the largest one, ten times as long")
	only := flag.String("only", "", "measure only these groups, and write nothing: growth, etcd, several")
	docs := flag.String("docs", "docs", "where scale.md and its plots are written; empty: nowhere")
	flag.Parse()
	if s.apiserver = *apiserver; s.apiserver == "" {
		s.apiserver = filepath.Join(s.programs, "apiserver")
	}
	measure.Exit(measure.Within(limit, func(run *measure.Run) error {
		s.Run = run
		for _, g := range groups {
			if *only != "" && !strings.Contains(*only, g.name) {
				continue
			}
			err := g.measure(context.Background(), s)
			s.Close()
			if err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
		}
		if *docs == "" || *only != "" {
			return nil
		}
		return measure.WriteReport(*docs, "scale.md", document(s.results), plots(s.results))
	}))
}

// scaling is one run of the program.
type scaling struct {
	*measure.Run
	programs, apiserver string
	nodes               int
	minute              time.Duration
	results             []*result
}

func (s *scaling) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
