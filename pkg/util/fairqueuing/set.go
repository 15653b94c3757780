package fairqueuing

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// AdjustPeriod is the time between two adjustments of the levels to their demand.
const AdjustPeriod = 10 * time.Second

// Set is the levels that share the seats of a server. It is safe for concurrent use.
type Set struct {
	seats int

	mu     sync.Mutex // held before the mutex of a level
	levels map[string]*QueueSet
}

// Quota is what a level has of the seats of a Set, and the demand of its last period.
type Quota struct {
	Nominal, Least, Most int // seats: its own, those that it does not lend, and all that it may have
	High                 int // the largest demand, in seats
	Average, Deviation   float64
	Smoothed, Target     float64 // of all periods so far, and what it should have
	Retired              bool    // it is no longer asked for, and ends when it is idle
}

// widestPart is the part of a level's own seats that a request may have.
const widestPart = 0.15

// widest returns the most seats that a request of a level may have, 0 for any number. If it had more than a queue has in a hand, others would
// wait long until so many are free.
func (q Quota) widest(s Settings) int {
	if s.Queues == 0 {
		return 0
	}
	return max(1, min(int(math.Ceil(float64(q.Nominal)*widestPart)), q.Nominal/s.Hand))
}

// NewSet returns a set without levels for a server that serves as many requests at a time, if each takes one seat.
func NewSet(seats int) *Set { return &Set{seats: seats, levels: map[string]*QueueSet{}} }

// Configure makes the set have the levels that are asked for, and returns them by name. Others stay until they are idle. Each name is
// there once.
func (s *Set) Configure(all []Settings) map[string]*QueueSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := map[string]*QueueSet{}
	for _, settings := range all {
		qs := s.levels[settings.Name]
		if qs == nil {
			qs = newQueueSet(settings.Name)
			s.levels[settings.Name] = qs
		}
		qs.configure(settings)
		qs.quota.Retired = false
		asked[settings.Name] = qs
	}
	for name, qs := range s.levels {
		qs.quota.Retired = asked[name] == nil
	}
	s.divide()
	return asked
}

// configure changes the settings. Requests that wait in a queue that is gone are served as the others.
func (qs *QueueSet) configure(settings Settings) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.tick()
	qs.settings = settings
	for len(qs.queues) < settings.Queues {
		qs.queues = append(qs.queues, &queue{})
	}
	qs.queues = slices.Delete(qs.queues, settings.Queues, len(qs.queues))
}

// Adjust moves seats to levels with more demand. It must be called once per AdjustPeriod.
func (s *Set) Adjust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divide()
}

// divide removes retired levels that are idle, divides the seats by the shares, and lends what is not needed.
func (s *Set) divide() {
	maps.DeleteFunc(s.levels, func(_ string, qs *QueueSet) bool { return qs.quota.Retired && qs.isIdle() })
	shares := 0
	for _, qs := range s.levels {
		shares += qs.settings.Shares
	}
	for _, qs := range s.levels {
		own := int(math.Ceil(float64(s.seats*qs.settings.Shares) / float64(max(shares, 1))))
		q := &qs.quota
		q.Nominal, q.Least, q.Most = own, own-percent(qs.settings.Lendable, own), own+s.seats
		if !qs.settings.Exempt {
			q.Least = max(q.Least, min(own, 1)) // without any, the first request would wait for the next period
		}
		if qs.settings.Borrowable != nil {
			q.Most = own + percent(*qs.settings.Borrowable, own)
		}
		qs.observe()
	}
	s.lend()
}

func percent(p, of int) int { return int(math.Round(float64(of*p) / 100)) }

// lend gives each level what it cannot lend, and what it needed of its own seats in the last period, and divides the
// rest in proportion to the demand.
func (s *Set) lend() {
	total, rest, least, need := 0, 0, 0, 0
	var all []claim
	for _, qs := range s.levels {
		q := &qs.quota
		total += q.Nominal
		if qs.settings.Exempt {
			limit := max(q.Least, q.High)
			rest -= limit
			qs.limitTo(limit)
			continue
		}
		low := max(q.Least, min(q.Nominal, q.High))
		q.Target = max(float64(low), q.Smoothed)
		least += q.Least
		need += low
		all = append(all, claim{qs, float64(low), float64(q.Most), max(q.Target, leastTarget)})
	}
	rest += total
	fair := fairShare(float64(total), all)
	for _, c := range all {
		own, limit := float64(c.level.quota.Least), c.at(fair)
		switch {
		case rest <= least: // exempt requests take all
			limit = own
		case rest <= need:
			limit = own + (c.low-own)*float64(rest-least)/float64(need-least)
		}
		c.level.limitTo(int(math.Round(limit)))
	}
}

// claim is what a level should get: in proportion to its target, between two numbers of seats.
type claim struct {
	level             *QueueSet
	low, high, target float64
}

// leastTarget lets a level without demand have something of what nobody needs.
const leastTarget = 0.001

func (c claim) at(fair float64) float64 { return min(max(fair*c.target, c.low), c.high) }

// fairShare returns the factor of the targets with which the claims together come to a number of seats.
func fairShare(seats float64, all []claim) float64 {
	low, high := 0.0, (seats+1)/leastTarget
	for range 100 { // each halves what is between, down to the precision of a float64
		middle, sum := (low+high)/2, 0.0
		for _, c := range all {
			sum += c.at(middle)
		}
		if sum < seats {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func (qs *QueueSet) limitTo(seats int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.tick()
	qs.limit, qs.widest = seats, qs.quota.widest(qs.settings)
	qs.dispatch()
}

func (qs *QueueSet) isIdle() bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.inUse == 0 && qs.wanted == 0
}
