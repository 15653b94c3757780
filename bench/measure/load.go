package measure

import (
	"sync"
	"sync/atomic"
	"time"
)

// Step is a request to be sent on a connection.
type Step struct {
	c       *Conn
	request []byte
	into    *[]float64
}

// Step returns a step whose time, in milliseconds, is noted unless into is nil.
func (c *Conn) Step(request []byte, into *[]float64) Step { return Step{c, request, into} }

// InTurn takes the steps one after the other, n times.
func InTurn(n int, steps ...Step) error {
	for range n {
		for _, s := range steps {
			took, err := s.c.Timed(s.request)
			if err != nil {
				return err
			}
			if s.into != nil {
				*s.into = append(*s.into, Milliseconds(took))
			}
		}
	}
	return nil
}

// Throughput repeats a request on a number of connections, and returns the
// answers per second.
func (s Server) Throughput(connections int, request []byte, duration time.Duration) (float64, error) {
	var answered atomic.Int64
	took, err := s.onEach(connections, func(c *Conn, start time.Time) error {
		for end := start.Add(duration); time.Now().Before(end); answered.Add(1) {
			if _, err := c.Do(request, false); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(answered.Load()) / took.Seconds(), err
}

// SendAll sends n requests over a number of connections, and returns the time
// taken.
func (s Server) SendAll(connections, n int, requestOf func(i int) []byte) (time.Duration, error) {
	var next atomic.Int64
	return s.onEach(connections, func(c *Conn, _ time.Time) error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			if _, err := c.Do(requestOf(i), false); err != nil {
				return err
			}
		}
		return nil
	})
}

// onEach opens connections, calls f for all of them at once, and returns the time that it
// took since they were open.
func (s Server) onEach(connections int, f func(c *Conn, start time.Time) error) (time.Duration, error) {
	var open []*Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range connections {
		c, err := s.Dial()
		if err != nil {
			return 0, err
		}
		open = append(open, c)
	}
	start := time.Now()
	err := Parallel(connections, func(worker int) error { return f(open[worker], start) })
	return time.Since(start), err
}

// Rate returns how often a second several workers do something, for a while.
func Rate(workers int, duration time.Duration, do func() error) (float64, error) {
	counts := make([]int, workers)
	start := time.Now()
	err := Parallel(workers, func(worker int) error {
		for time.Since(start) < duration {
			if err := do(); err != nil {
				return err
			}
			counts[worker]++
		}
		return nil
	})
	total := 0
	for _, count := range counts {
		total += count
	}
	return float64(total) / time.Since(start).Seconds(), err
}

// Parallel calls f from n goroutines, and returns the first error.
func Parallel(n int, f func(worker int) error) error {
	var group sync.WaitGroup
	errs := make(chan error, n)
	for worker := range n {
		group.Go(func() {
			if err := f(worker); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
