package cache

import (
	"errors"
	"sync"
)

// sharedCall lets concurrent callers share one read. Each gets the result of a
// call that began after it asked, or an error that occurred after it asked.
type sharedCall[Result any] struct {
	mu      sync.Mutex // guards what follows
	running *outcome[Result]
	next    *outcome[Result] // begins when the running one has ended
}

type outcome[Result any] struct {
	done   chan struct{} // closed when the rest is there
	result Result
	err    error
}

// do returns the result of f, called by this caller or by another one.
func (s *sharedCall[Result]) do(f func() (Result, error)) (Result, error) {
	own, before, first := s.join()
	if !first {
		<-own.done
		return own.result, own.err
	}
	if before != nil {
		<-before.done
	}
	s.begin(own)
	defer s.end(own)
	if before != nil && before.err != nil {
		own.err = before.err // a retry would double the time
	} else {
		own.err = errors.New("the call was interrupted")
		own.result, own.err = f()
	}
	return own.result, own.err
}

// join returns the call that begins next, the one that is running before it, and
// whether the caller is the one who makes it.
func (s *sharedCall[Result]) join() (own, before *outcome[Result], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next, first = &outcome[Result]{done: make(chan struct{})}, true
	}
	return s.next, s.running, first
}

func (s *sharedCall[Result]) begin(own *outcome[Result]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.next = own, nil
}

func (s *sharedCall[Result]) end(own *outcome[Result]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == own {
		s.running = nil
	}
	close(own.done)
}
