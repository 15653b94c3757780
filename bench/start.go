package main

import (
	"net"
	"os/exec"
	"syscall"
	"time"

	"kube2014/bench/measure"
	"kube2014/bench/size"
)

func measureStart(b *bench) (err error) {
	if b.sizes, err = size.Measure(b.program); err != nil {
		return err
	}
	var took []float64
	for range 2 * runs {
		one, err := startToAnswer(b.program)
		if err != nil {
			return err
		}
		took = append(took, measure.Milliseconds(one))
	}
	b.start = measure.Median(took)
	b.add(row{what: "start to first answer", unit: "ms", values: took, bound: 100})
	return nil
}

// startToAnswer starts the program, and ends it when it has answered.
func startToAnswer(program string) (time.Duration, error) {
	port, err := measure.FreePort()
	if err != nil {
		return 0, err
	}
	s := measure.Server{Address: net.JoinHostPort("127.0.0.1", port)}
	start := time.Now()
	cmd := exec.Command(program, "-port", port)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		_ = cmd.Wait()
	}()
	for {
		_, err := s.Ask("GET", tasksPath, nil)
		if took := time.Since(start); err == nil || took > 5*time.Second {
			return took, err
		}
	}
}
