// Package fairqueuing shares the seats of a server among the requests that it serves. Requests are on levels. Each level
// has a number of seats, which changes with the demand, and lets its requests wait in queues, or refuses what has no seat. Of
// requests that wait, those of a quiet flow are not held up by those of a busy one.
package fairqueuing

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Level has seats, and requests that take them or wait for them. It is safe for concurrent use.
type Level struct {
	quota Quota // guarded by the Set

	mu       sync.Mutex // guards what follows, the queues, and the numbers of the flows
	settings Settings
	limit    int // of seats in use
	widest   int // seats of a request, 0 for any number
	queues   []*queue
	busy     []*queue // in which requests wait, even if they are no longer in queues; the one that was served last is the last
	active   int      // number of queues of which requests wait or are served
	flows    map[string]*Flow

	executing []*Ticket
	inUse     int // seats, with those of requests that linger
	wanted    int // seats, by requests that wait
	enqueued  int

	at     time.Time // of the last change
	virt   float64   // virtual time: the seat-seconds that each active queue could have had since no queue was active
	demand demand

	dispatched, rejected, cancelled int
}

// Ticket is a request that waits, or is served.
type Ticket struct {
	Request
	flow     *Flow
	queue    *queue        // nil for none
	admitted chan struct{} // nil unless somebody waits
	index    int           // in executing, -1 if it is not there
	arrived  time.Time
	started  time.Time // zero while it waits
	arrival  float64   // in virtual time
}

func newLevel(name string) *Level {
	return &Level{settings: Settings{Name: name}, flows: map[string]*Flow{}, at: time.Now()}
}

// Wait waits until a request may be served, its time to wait is over, or its context ends. Done must be called on the ticket. The error
// is Refused.
func (f *Flow) Wait(ctx context.Context, r Request) (*Ticket, error) {
	t := &Ticket{Request: r, flow: f, index: -1}
	l := f.level
	l.mu.Lock()
	if why := l.arrive(t); why != "" {
		l.rejected++
		f.counts.Rejected[why]++
		l.mu.Unlock()
		return nil, why
	}
	isServed := t.index >= 0
	if !isServed {
		t.admitted = make(chan struct{})
	}
	l.mu.Unlock()
	if isServed {
		return t, nil
	}
	if t.Waits != nil {
		t.Waits()
	}
	var late <-chan time.Time
	if !t.Until.IsZero() {
		timer := time.NewTimer(time.Until(t.Until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.admitted:
		return t, nil
	case <-late:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.index >= 0 { // at the same moment
		return t, nil
	}
	l.tick()
	l.leave(t)
	t.queue.bound()
	l.rejected++
	l.cancelled++
	f.counts.Rejected[TimeOut]++
	l.dispatch() // it may have been first, and have wanted too many seats
	return nil, TimeOut
}

// arrive lets a request begin, or wait, and returns "" then.
func (l *Level) arrive(t *Ticket) Refused {
	t.arrived = l.tick()
	if l.widest > 0 {
		t.Work = t.Work.Within(l.widest)
	}
	switch {
	case l.settings.Exempt:
		l.begin(t)
	case l.settings.Queues > 0:
		q := l.queueFor(t.flow.name, t.Distinguisher)
		if l.inUse >= l.limit && len(q.waiting) >= l.settings.QueueLength {
			return QueueFull
		}
		l.enqueue(t, q)
		l.dispatch()
	case !l.fits(t.Work.most()):
		return ConcurrencyLimit
	default:
		l.begin(t)
	}
	return ""
}

// fits reports whether some seats are free. Who wants more than there are gets all, but nothing beside it.
func (l *Level) fits(seats int) bool { return l.inUse == 0 || l.inUse+seats <= l.limit }

// begin gives a request its seats.
func (l *Level) begin(t *Ticket) {
	if !l.settings.Exempt {
		t.Work = t.Work.Within(max(l.limit, 1))
	}
	seats := t.Work.most()
	t.started = l.at
	t.index = len(l.executing)
	l.executing = append(l.executing, t)
	l.inUse += seats
	l.demand.note(l.inUse + l.wanted)
	l.dispatched++
	t.flow.counts.Dispatched++
	t.flow.counts.Executing++
	t.flow.counts.Seats += seats
	if t.admitted != nil {
		close(t.admitted)
	}
}

// Done ends a request. It gives its seats back at once, or when it has lingered. It may be called again.
func (t *Ticket) Done() {
	l := t.flow.level
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.index < 0 {
		return
	}
	now := l.tick()
	last := l.executing[len(l.executing)-1]
	l.executing[t.index], last.index = last, t.index
	l.executing = slices.Delete(l.executing, len(l.executing)-1, len(l.executing))
	t.index = -1
	t.flow.counts.Executing--
	if t.queue != nil {
		l.correct(t, now.Sub(t.started))
	}
	if t.Work.Linger <= 0 {
		l.release(t)
		return
	}
	time.AfterFunc(t.Work.Linger, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tick()
		l.release(t)
	})
	l.dispatch() // another queue may be first now, whose request wants fewer seats
}

func (l *Level) release(t *Ticket) {
	seats := t.Work.most()
	l.inUse -= seats
	t.flow.counts.Seats -= seats
	if t.queue != nil {
		t.queue.seats -= seats
	}
	l.dispatch()
}
