package util

import (
	"errors"
	"sync"
)

// SharedCall lets concurrent callers share one read. Each gets the result of a call
// that began after its own, or an error that occurred after it.
type SharedCall[Result any] struct {
	mu      sync.Mutex // guards what follows
	running *outcome[Result]
	next    *outcome[Result] // begins when the running one has ended
}

type outcome[Result any] struct {
	done   chan struct{} // closed when the rest is there
	result Result
	err    error
}

// Do returns the result of f, called by this caller or by another one.
func (s *SharedCall[Result]) Do(f func() (Result, error)) (Result, error) {
	s.mu.Lock()
	own, before := s.next, s.running
	if own != nil { // another caller makes the next call
		s.mu.Unlock()
		<-own.done
		return own.result, own.err
	}
	own = &outcome[Result]{done: make(chan struct{})}
	s.next = own
	s.mu.Unlock()
	if before != nil {
		if <-before.done; before.err != nil {
			return own.result, own.err
		}
	}
	s.mu.Lock()
	s.running, s.next = own, nil
	s.mu.Unlock()
	defer func() { // also after a panic
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = nil
		if s.next != nil && own.err != nil { // a retry would double the time
			s.next.err = own.err
			close(s.next.done)
			s.next = nil
		}
		close(own.done)
	}()
	own.err = errors.New("the call was interrupted")
	own.result, own.err = f()
	return own.result, own.err
}
