package fairqueuing

import "time"

// Work is an estimate of what a request costs.
type Work struct {
	Seats      int           // that it takes while it is served, at least 1
	FinalSeats int           // that it takes after that; it has the larger number from its beginning
	Linger     time.Duration // how long it takes FinalSeats
}

func (w Work) most() int { return max(w.Seats, w.FinalSeats) }

// Within returns the work with fewer seats, at most a number of them. What it takes at the end it takes longer then.
func (w Work) Within(seats int) Work {
	w.Seats = min(w.Seats, seats)
	if w.FinalSeats > seats {
		w.Linger = w.Linger * time.Duration(w.FinalSeats) / time.Duration(seats)
		w.FinalSeats = seats
	}
	return w
}

// total returns the work in seat-seconds, before it is known how long the request takes.
func (w Work) total() float64 {
	return float64(w.Seats)*guess.Seconds() + float64(w.FinalSeats)*w.Linger.Seconds()
}

// Request is what asks for seats.
type Request struct {
	Distinguisher string // requests of the same one are of the same flow
	Work          Work
	Until         time.Time // when it stops waiting; zero for never
	OnWait        func()    // is called before it waits; may be nil
	Details       any       // for dumps
}

// guess is how long a request takes, until that is known.
const guess = 3 * time.Millisecond

// Refused is why a request may not be served: the word for it in the metrics of kube-apiserver.
type Refused string

// The reasons.
const (
	QueueFull        Refused = "queue-full"
	ConcurrencyLimit Refused = "concurrency-limit"
	TimeOut          Refused = "time-out" // its time or its context has ended while it waited
)

func (r Refused) Error() string { return "the request is refused: " + string(r) }

// Settings are what a level is asked to be.
type Settings struct {
	Name        string
	Exempt      bool // nothing is limited, but it counts
	Shares      int  // of the seats of the server, in proportion to those of the other levels
	Lendable    int  // how much of its seats others may have, in percent
	Borrowable  *int // how much it may have of others, in percent of its own seats; nil for any number
	Queues      int  // 0 if nothing waits
	Hand        int  // among how many queues a flow chooses: from 1 to Queues and MaxHand
	QueueLength int  // how many requests may wait in a queue
}

// MaxHand is the largest hand that a hash is enough for.
const MaxHand = 15
