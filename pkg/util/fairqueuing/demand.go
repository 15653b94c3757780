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
func (l *Level) observe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	d := l.demand
	l.demand = demand{high: l.inUse + l.wanted}
	l.quota.High = d.high
	if d.seconds <= 0 {
		return
	}
	l.quota.Average = d.sum / d.seconds
	l.quota.Deviation = math.Sqrt(max(d.squares/d.seconds-l.quota.Average*l.quota.Average, 0))
	now := l.quota.Average + l.quota.Deviation
	l.quota.Smoothed = max(now, decay*l.quota.Smoothed+(1-decay)*now)
}
