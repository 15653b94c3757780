// Command original compares a server of the original commit with ours: it
// replays the recordings against both, and names the deviation that explains
// each difference.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = `compare-original replays the recordings against a server of the original commit
and against ours, and names the deviation that explains each difference.

usage: compare-original -original URL [flags]

  -original URL      the server of the original, such as http://127.0.0.1:8001;
                     it must be empty, and run with -machines 127.0.0.1,127.0.0.2
  -ours URL          a server of ours, empty too, with the same machines
                     (default: start one, with its objects in memory)
  -apiserver FILE    the program to start (default bin/apiserver)
  -recordings DIR    where happy.json and wrong.json are
                     (default cmd/apiserver/testdata)
  -deviations FILE   the table of deviations (default docs/deviations.md)
  -timeout DURATION  how long an answer may take (default 5s)

It exits with 0 if a deviation explains each difference, with 1 if not, and
with 2 if it could not compare. It deletes what it made, and nothing else.
`

// recordingFiles are replayed in this order: what wrong.json makes cannot all
// be deleted from the original (D10).
var recordingFiles = []string{"happy.json", "wrong.json"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	original, ours, program, recordings, deviations string
	timeout                                         time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	var unexplained int
	if err == nil {
		unexplained, err = compare(ctx, o, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "compare-original:", err)
		return 2
	case unexplained > 0:
		return 1
	}
	return 0
}

func parseFlags(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("compare-original", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run tells what is wrong
	flags.StringVar(&o.original, "original", "", "")
	flags.StringVar(&o.ours, "ours", "", "")
	flags.StringVar(&o.program, "apiserver", "bin/apiserver", "")
	flags.StringVar(&o.recordings, "recordings", "cmd/apiserver/testdata", "")
	flags.StringVar(&o.deviations, "deviations", "docs/deviations.md", "")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Second, "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	err := checkURL("-original", o.original)
	if o.ours != "" {
		err = cmp.Or(err, checkURL("-ours", o.ours))
	}
	return o, err
}

func checkURL(name, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return fmt.Errorf("%s: %q is not the address of a server, such as http://127.0.0.1:8001", name, text)
	}
	return nil
}

// compare replays all recordings and returns how many differences no deviation
// explains.
func compare(ctx context.Context, o options, stdout io.Writer) (unexplained int, err error) {
	var recordings []recording
	for _, file := range recordingFiles {
		recorded, err := load(filepath.Join(o.recordings, file))
		if err != nil {
			return 0, err
		}
		recordings = append(recordings, recorded)
	}
	meanings, err := readMeanings(o.deviations)
	if err != nil {
		return 0, err
	}
	oursURL := o.ours
	if oursURL == "" {
		started, stop, err := startOurs(o.program, recordings[0].Machines)
		if err != nil {
			return 0, err
		}
		defer stop()
		oursURL = started
	}
	c := &comparison{
		original: newServer("the original", o.original, o.timeout),
		ours:     newServer("ours", oursURL, o.timeout),
		report:   &report{out: stdout, meanings: meanings, deviations: map[string]int{}},
	}
	if err := c.replayAll(ctx, recordings); err != nil {
		return 0, err
	}
	c.report.summary()
	return c.report.unexplained, nil
}
