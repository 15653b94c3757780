package main

import (
	"net"
	"os/exec"
	"syscall"
	"time"
)

func measureStart(b *bench) error {
	var took []float64
	for range 2 * runs {
		one, err := startToAnswer(b.program)
		if err != nil {
			return err
		}
		took = append(took, milliseconds(one))
	}
	b.add(row{what: "start to first answer", unit: "ms", values: took, bound: 100})
	return nil
}

// startToAnswer starts the program, and ends it when it has answered.
func startToAnswer(program string) (time.Duration, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
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
		_, err := ask(address, "GET", tasksPath, nil)
		if took := time.Since(start); err == nil || took > 5*time.Second {
			return took, err
		}
	}
}
