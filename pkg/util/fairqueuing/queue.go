package fairqueuing

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// queue has requests of some flows.
type queue struct {
	waiting   []*Ticket // in the order of their arrival
	executing int
	seats     int     // in use
	work      float64 // of those that wait, in seat-seconds
	next      float64 // the virtual time of the next dispatch
}

func (q *queue) isActive() bool { return len(q.waiting) > 0 || q.executing > 0 }

// tick brings the virtual time up to now, and must be called before each change. Virtual time passes for each active
// queue as if they shared the seats in use equally.
func (l *Level) tick() (now time.Time) {
	now = time.Now()
	passed := now.Sub(l.at).Seconds()
	l.demand.pass(passed, l.inUse+l.wanted)
	if l.active > 0 {
		l.virt += passed * float64(min(l.inUse+l.wanted, l.limit)) / float64(l.active)
	}
	l.at = now
	return now
}

// queueFor returns the queue with the least work of those that a flow may choose.
func (l *Level) queueFor(flow, distinguisher string) *queue {
	size := l.settings.Hand
	var cards [MaxHand]int
	hand := cards[:size]
	deal(hashOf(flow, distinguisher), l.settings.Queues, hand)
	var best *queue
	for i := range hand { // begins with another one each time, so that flows that share a queue do not prefer it
		if q := l.queues[hand[(l.enqueued+i)%size]]; best == nil || q.work < best.work {
			best = q
		}
	}
	l.enqueued++
	return best
}

func hashOf(flow, distinguisher string) uint64 {
	var room [128]byte
	text := append(append(append(room[:0], flow...), 0), distinguisher...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// deal fills a hand with different numbers below the number of cards, in ascending order. The same hash deals the same hand.
func deal(hash uint64, cards int, hand []int) {
	for i := range hand {
		left := uint64(cards - i)
		card := int(hash % left)
		hash /= left
		for _, taken := range hand[:i] { // the card is the n-th of those that are left
			if card >= taken {
				card++
			}
		}
		hand[i] = card
		slices.Sort(hand[:i+1])
	}
}

func (l *Level) enqueue(t *Ticket, q *queue) {
	if !q.isActive() {
		q.next = l.virt
		l.active++
	}
	if len(q.waiting) == 0 {
		l.busy = append(l.busy, q)
	}
	t.queue, t.arrival = q, l.virt
	q.waiting = append(q.waiting, t)
	q.work += t.Work.total()
	l.wanted += t.Work.most()
	l.demand.note(l.inUse + l.wanted)
	t.flow.counts.Waiting++
	q.bound()
}

// leave takes a request out of its queue, which must be bounded after that.
func (l *Level) leave(t *Ticket) {
	q := t.queue
	at := slices.Index(q.waiting, t)
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.work -= t.Work.total()
	if len(q.waiting) == 0 {
		q.work = 0 // without what rounding has left
		at := slices.Index(l.busy, q)
		l.busy = slices.Delete(l.busy, at, at+1)
	}
	l.wanted -= t.Work.most()
	t.flow.counts.Waiting--
	l.mayRest(q)
}

// mayRest counts a queue that is no longer active. Without an active one, virtual time begins again.
func (l *Level) mayRest(q *queue) {
	if q.isActive() {
		return
	}
	if l.active--; l.active == 0 {
		l.virt = 0
	}
}

// bound does not let a queue save up the seats that it did not need: its next request is not dispatched before it arrived.
func (q *queue) bound() {
	if len(q.waiting) > 0 {
		q.next = max(q.next, q.waiting[0].arrival)
	}
}

// dispatch begins waiting requests while there are seats. The next one is that which would end first in virtual time. If its
// seats are not free, all wait for them, for else it might wait for ever.
func (l *Level) dispatch() {
	for len(l.busy) > 0 && l.inUse < l.limit {
		at, first := 0, 0.0
		for i, q := range l.busy {
			if end := q.next + q.waiting[0].Work.total(); i == 0 || end < first {
				at, first = i, end
			}
		}
		q := l.busy[at]
		t := q.waiting[0]
		if !l.fits(t.Work.most()) {
			return
		}
		l.busy = append(slices.Delete(l.busy, at, at+1), q)
		q.executing++ // before it leaves, so that the queue stays active
		l.leave(t)
		l.begin(t)
		q.seats += t.Work.most()
		q.next += t.Work.total()
		q.bound()
	}
}

// correct corrects the guess of a request's time by what it has taken.
func (l *Level) correct(t *Ticket, took time.Duration) {
	q := t.queue
	q.executing--
	q.next += float64(t.Work.Seats) * (took - guess).Seconds()
	q.bound()
	l.mayRest(q)
}
