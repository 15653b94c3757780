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
func (qs *QueueSet) tick() (now time.Time) {
	now = time.Now()
	passed := now.Sub(qs.at).Seconds()
	qs.demand.pass(passed, qs.inUse+qs.wanted)
	if qs.active > 0 {
		qs.virt += passed * float64(min(qs.inUse+qs.wanted, qs.limit)) / float64(qs.active)
	}
	qs.at = now
	return now
}

// queueFor returns the queue with the least work of those that a flow may choose.
func (qs *QueueSet) queueFor(flow, distinguisher string) *queue {
	size := qs.settings.Hand
	var cards [MaxHand]int
	hand := cards[:size]
	deal(hashOf(flow, distinguisher), qs.settings.Queues, hand)
	var best *queue
	for i := range hand { // begins with another one each time, so that flows that share a queue do not prefer it
		if q := qs.queues[hand[(qs.enqueued+i)%size]]; best == nil || q.work < best.work {
			best = q
		}
	}
	qs.enqueued++
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

func (qs *QueueSet) enqueue(t *Ticket, q *queue) {
	if !q.isActive() {
		q.next = qs.virt
		qs.active++
	}
	if len(q.waiting) == 0 {
		qs.busy = append(qs.busy, q)
	}
	t.queue, t.arrival = q, qs.virt
	q.waiting = append(q.waiting, t)
	q.work += t.Work.total()
	qs.wanted += t.Work.most()
	qs.demand.note(qs.inUse + qs.wanted)
	t.flow.counts.Waiting++
	q.bound()
}

// leave takes a request out of its queue, which must be bounded after that.
func (qs *QueueSet) leave(t *Ticket) {
	q := t.queue
	at := slices.Index(q.waiting, t)
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.work -= t.Work.total()
	if len(q.waiting) == 0 {
		q.work = 0 // without what rounding has left
		at := slices.Index(qs.busy, q)
		qs.busy = slices.Delete(qs.busy, at, at+1)
	}
	qs.wanted -= t.Work.most()
	t.flow.counts.Waiting--
	qs.mayRest(q)
}

// mayRest counts a queue that is no longer active. Without an active one, virtual time begins again.
func (qs *QueueSet) mayRest(q *queue) {
	if q.isActive() {
		return
	}
	if qs.active--; qs.active == 0 {
		qs.virt = 0
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
func (qs *QueueSet) dispatch() {
	for len(qs.busy) > 0 && qs.inUse < qs.limit {
		at, first := 0, 0.0
		for i, q := range qs.busy {
			if end := q.next + q.waiting[0].Work.total(); i == 0 || end < first {
				at, first = i, end
			}
		}
		q := qs.busy[at]
		t := q.waiting[0]
		if !qs.fits(t.Work.most()) {
			return
		}
		qs.busy = append(slices.Delete(qs.busy, at, at+1), q)
		q.executing++ // before it leaves, so that the queue stays active
		qs.leave(t)
		qs.begin(t)
		q.seats += t.Work.most()
		q.next += t.Work.total()
		q.bound()
	}
}

// correct corrects the guess of a request's time by what it has taken.
func (qs *QueueSet) correct(t *Ticket, took time.Duration) {
	q := t.queue
	q.executing--
	q.next += float64(t.Work.Seats) * (took - guess).Seconds()
	q.bound()
	qs.mayRest(q)
}
