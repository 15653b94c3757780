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

// QueueSet is a level: it has seats, and requests that take them or wait for them. It is safe for concurrent use.
type QueueSet struct {
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

func newQueueSet(name string) *QueueSet {
	return &QueueSet{settings: Settings{Name: name}, flows: map[string]*Flow{}, at: time.Now()}
}

// Wait waits until a request may be served, its time to wait is over, or its context ends. Done must be called on the ticket. The error
// is Refused.
func (f *Flow) Wait(ctx context.Context, r Request) (*Ticket, error) {
	t := &Ticket{Request: r, flow: f, index: -1}
	qs := f.level
	qs.mu.Lock()
	if why := qs.arrive(t); why != "" {
		qs.rejected++
		f.counts.Rejected[why]++
		qs.mu.Unlock()
		return nil, why
	}
	isServed := t.index >= 0
	if !isServed {
		t.admitted = make(chan struct{})
	}
	qs.mu.Unlock()
	if isServed {
		return t, nil
	}
	if t.OnWait != nil {
		t.OnWait()
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
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if t.index >= 0 { // at the same moment
		return t, nil
	}
	qs.tick()
	qs.leave(t)
	t.queue.bound()
	qs.rejected++
	qs.cancelled++
	f.counts.Rejected[TimeOut]++
	qs.dispatch() // it may have been first, and have wanted too many seats
	return nil, TimeOut
}

// arrive lets a request begin, or wait, and returns "" then.
func (qs *QueueSet) arrive(t *Ticket) Refused {
	t.arrived = qs.tick()
	if qs.widest > 0 {
		t.Work = t.Work.Within(qs.widest)
	}
	switch {
	case qs.settings.Exempt:
		qs.begin(t)
	case qs.settings.Queues > 0:
		q := qs.queueFor(t.flow.name, t.Distinguisher)
		if qs.inUse >= qs.limit && len(q.waiting) >= qs.settings.QueueLength {
			return QueueFull
		}
		qs.enqueue(t, q)
		qs.dispatch()
	case !qs.fits(t.Work.most()):
		return ConcurrencyLimit
	default:
		qs.begin(t)
	}
	return ""
}

// fits reports whether some seats are free. Who wants more than there are gets all, but nothing beside it.
func (qs *QueueSet) fits(seats int) bool { return qs.inUse == 0 || qs.inUse+seats <= qs.limit }

// begin gives a request its seats.
func (qs *QueueSet) begin(t *Ticket) {
	if !qs.settings.Exempt {
		t.Work = t.Work.Within(max(qs.limit, 1))
	}
	seats := t.Work.most()
	t.started = qs.at
	t.index = len(qs.executing)
	qs.executing = append(qs.executing, t)
	qs.inUse += seats
	qs.demand.note(qs.inUse + qs.wanted)
	qs.dispatched++
	t.flow.counts.Dispatched++
	t.flow.counts.Executing++
	t.flow.counts.Seats += seats
	if t.admitted != nil {
		close(t.admitted)
	}
}

// Done ends a request. It gives its seats back at once, or when it has lingered. It may be called again.
func (t *Ticket) Done() {
	qs := t.flow.level
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if t.index < 0 {
		return
	}
	now := qs.tick()
	last := qs.executing[len(qs.executing)-1]
	qs.executing[t.index], last.index = last, t.index
	qs.executing = slices.Delete(qs.executing, len(qs.executing)-1, len(qs.executing))
	t.index = -1
	t.flow.counts.Executing--
	if t.queue != nil {
		qs.correct(t, now.Sub(t.started))
	}
	if t.Work.Linger <= 0 {
		qs.release(t)
		return
	}
	time.AfterFunc(t.Work.Linger, func() {
		qs.mu.Lock()
		defer qs.mu.Unlock()
		qs.tick()
		qs.release(t)
	})
	qs.dispatch() // another queue may be first now, whose request wants fewer seats
}

func (qs *QueueSet) release(t *Ticket) {
	seats := t.Work.most()
	qs.inUse -= seats
	t.flow.counts.Seats -= seats
	if t.queue != nil {
		t.queue.seats -= seats
	}
	qs.dispatch()
}
