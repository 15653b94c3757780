package fairqueuing

import "math"

// demand is how many seats were in use or wanted, since it was read.
type demand struct {
	high                  int
	seconds, sum, squares float64 // the integrals of 1, of the seats, and of their square
}

func (d *demand) note(seats int) { d.high = max(d.high, seats) }

func (d *demand) pass(seconds float64, seats int) {
	d.seconds += seconds
	d.sum += seconds * float64(seats)
	d.squares += seconds * float64(seats) * float64(seats)
}

// decay lets half of what is above the demand go in five minutes.
const decay = 0.977

// observe reads the demand of a level, and begins anew. What is smoothed rises at once, and falls slowly.
func (qs *QueueSet) observe() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.tick()
	d := qs.demand
	qs.demand = demand{high: qs.inUse + qs.wanted}
	qs.quota.High = d.high
	if d.seconds <= 0 {
		return
	}
	qs.quota.Average = d.sum / d.seconds
	qs.quota.Deviation = math.Sqrt(max(d.squares/d.seconds-qs.quota.Average*qs.quota.Average, 0))
	now := qs.quota.Average + qs.quota.Deviation
	qs.quota.Smoothed = max(now, decay*qs.quota.Smoothed+(1-decay)*now)
}
