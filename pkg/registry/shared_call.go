package registry

import (
	"errors"
	"sync"
)

// sharedCall lets callers share a call that looks at something: each gets the
// result of a call that began after it asked, or a failure that came after.
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

// do returns what f does, called by this caller or by another one.
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
		own.err = before.err // to try again would double the time that it takes
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
