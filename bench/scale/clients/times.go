package clients

import (
	"slices"
	"sync"
	"time"
)

// Times are how long requests took, by kind. It is safe for concurrent use.
type Times struct {
	mu     sync.Mutex // guards byKind
	byKind map[string][]time.Duration
}

// Summary is how long requests of a kind took.
type Summary struct {
	Count          int
	P50, P99, Most time.Duration
}

func (t *Times) add(kind string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKind == nil {
		t.byKind = map[string][]time.Duration{}
	}
	t.byKind[kind] = append(t.byKind[kind], took)
}

// Take returns the summaries, and forgets what was noted.
func (t *Times) Take() map[string]Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]Summary{}
	for kind, took := range t.byKind {
		slices.Sort(took)
		all[kind] = Summary{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}
	}
	t.byKind = nil
	return all
}

// Failures are how many requests were not answered as wanted, by the reason. It is safe for concurrent use.
type Failures struct {
	mu       sync.Mutex // guards byReason
	byReason map[string]int
}

func (f *Failures) add(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byReason == nil {
		f.byReason = map[string]int{}
	}
	f.byReason[reason]++
}

// Take returns the numbers, and forgets them.
func (f *Failures) Take() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.byReason
	f.byReason = nil
	return all
}
