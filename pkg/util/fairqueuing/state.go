package fairqueuing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// LevelState is what a level is doing.
type LevelState struct {
	Name string
	Quota
	Limit               int // seats that it has now
	Seats               int // in use
	Dispatched          int // since the level was made, as the next two
	Rejected, Cancelled int
	Flows               []FlowCounts   // sorted by name
	Waiting, Executing  []RequestState // in the order of the queues
	Queues              []QueueState
}

// QueueState is what a queue is doing.
type QueueState struct {
	Waiting, Executing int
	Seats              int    // in use
	Next               string // the virtual time of the next dispatch
	InitialSeats       int    // of those that wait, as what follows
	MostSeats          int
	Work               string
}

// RequestState is a request.
type RequestState struct {
	Request
	Queue, Index     int // -1 for none: Index is that among those that wait
	Flow             string
	Arrived, Started time.Time // Started is zero while it waits
}

// FlowCounts are the numbers of requests of a flow.
type FlowCounts struct {
	Name               string
	Waiting, Executing int
	Seats              int // in use, with those of requests that linger
	Dispatched         int
	Rejected           map[Refused]int
}

// Flow is what a level counts for requests of one kind. It is safe for concurrent use.
type Flow struct {
	level  *QueueSet
	name   string
	counts FlowCounts // guarded by the level
}

// Flow returns what counts the requests of a name. It is always the same.
func (qs *QueueSet) Flow(name string) *Flow {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	flow := qs.flows[name]
	if flow == nil {
		flow = &Flow{level: qs, name: name, counts: FlowCounts{Rejected: map[Refused]int{}}}
		qs.flows[name] = flow
	}
	return flow
}

// States returns what all levels are doing, sorted by name; with or without their requests and queues, which may be many.
func (s *Set) States(inDetail bool) []LevelState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []LevelState
	for _, name := range slices.Sorted(maps.Keys(s.levels)) {
		all = append(all, s.levels[name].state(inDetail))
	}
	return all
}

// state needs both mutexes: the quota belongs to the set.
func (qs *QueueSet) state(inDetail bool) LevelState {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.tick()
	state := LevelState{Name: qs.settings.Name, Quota: qs.quota, Limit: qs.limit, Seats: qs.inUse,
		Dispatched: qs.dispatched, Rejected: qs.rejected, Cancelled: qs.cancelled}
	for _, name := range slices.Sorted(maps.Keys(qs.flows)) {
		counts := qs.flows[name].counts
		counts.Name, counts.Rejected = name, maps.Clone(counts.Rejected)
		state.Flows = append(state.Flows, counts)
	}
	if !inDetail {
		return state
	}
	numbers := map[*queue]int{nil: -1}
	for i, q := range qs.queues {
		numbers[q] = i
		state.Queues = append(state.Queues, q.state())
	}
	for _, q := range qs.busy {
		for i, t := range q.waiting {
			state.Waiting = append(state.Waiting, t.state(numbers, i))
		}
	}
	for _, t := range qs.executing {
		state.Executing = append(state.Executing, t.state(numbers, -1))
	}
	for _, requests := range [][]RequestState{state.Waiting, state.Executing} {
		slices.SortStableFunc(requests, func(a, b RequestState) int { return cmp.Compare(a.Queue, b.Queue) })
	}
	return state
}

func (q *queue) state() QueueState {
	state := QueueState{Waiting: len(q.waiting), Executing: q.executing, Seats: q.seats, Next: seatSeconds(q.next), Work: seatSeconds(q.work)}
	for _, t := range q.waiting {
		state.InitialSeats += t.Work.Seats
		state.MostSeats += t.Work.most()
	}
	return state
}

func (t *Ticket) state(numbers map[*queue]int, index int) RequestState {
	number, ok := numbers[t.queue]
	if !ok {
		number = -1 // its queue is gone
	}
	return RequestState{t.Request, number, index, t.flow.name, t.arrived, t.started}
}

// seatSeconds writes them as today's server does.
func seatSeconds(amount float64) string { return fmt.Sprintf("%.8fss", amount) }
