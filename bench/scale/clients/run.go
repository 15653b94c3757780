package clients

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/bench/measure"
)

// What happens so many times a second, at the speed 1.
const (
	podsASecond  = 50.0 // come, and as many go
	listsASecond = 1.0  // of a namespace
	allASecond   = 1.0 / 60
)

// Kinds of requests that are told apart. All others are of single objects.
const (
	ListOfNamespace = "list of a namespace"
	ListOfAll       = "list of all pods"
	EventOfPod      = "POST of a pod to its event at an informer"
	EventOfBinding  = "binding of a pod to its event at the kubelet"
)

// turn is one call of Run: when its pods were created and bound, in nanoseconds.
type turn struct {
	first       int // the number of its first pod
	sent, bound []atomic.Int64
}

func (t *turn) sentAt(pod int) time.Time  { return at(t.sent, pod-t.first) }
func (t *turn) boundAt(pod int) time.Time { return at(t.bound, pod-t.first) }

// at returns a time, zero if there is none.
func at(times []atomic.Int64, i int) time.Time {
	if i >= 0 && i < len(times) {
		if nanoseconds := times[i].Load(); nanoseconds != 0 {
			return time.Unix(0, nanoseconds)
		}
	}
	return time.Time{}
}

// Run creates, binds and deletes pods, and lists them, for a time, while kubelets and informers go on. It returns what share
// of the pods that were due came in that time.
func (l *Load) Run(ctx context.Context, duration time.Duration) (share float64, err error) {
	n := int(podsASecond * l.Speed() * duration.Seconds())
	now := &turn{first: l.Pods + l.came, sent: make([]atomic.Int64, n), bound: make([]atomic.Int64, n)}
	l.turn.Store(now)
	during, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var running sync.WaitGroup
	due := make(chan int)
	for worker := range connections {
		running.Go(func() { l.fail(l.turnOver(ctx, worker, now, due)) })
	}
	for _, list := range []struct {
		kind    string
		aSecond float64
		path    func(i int) string
	}{
		{ListOfNamespace, listsASecond, func(i int) string { return podsPath(l.namespaceOf(i)) }},
		{ListOfAll, allASecond, func(int) string { return allPods }},
	} {
		running.Go(func() {
			c := l.link(0)
			c.buffer = listBuffer
			defer c.close()
			l.pace(during, list.aSecond, func(i int) {
				_, err := c.ask(during, list.kind, l.request(reader, "GET", list.path(i), nil), false)
				if during.Err() == nil {
					l.fail(err)
				}
			})
		})
	}
	created := 0
	l.pace(during, podsASecond, func(i int) {
		if i < n {
			select {
			case due <- i:
				created++
			case <-during.Done():
			}
		}
	})
	close(due)
	running.Wait()
	l.came += created
	return float64(created) / float64(n), l.failed()
}

// pace calls f so many times a second, as long as it does not take longer, until the context ends.
func (l *Load) pace(ctx context.Context, aSecond float64, f func(i int)) {
	start := time.Now()
	for i := 0; ; i++ {
		due := start.Add(time.Duration(float64(i) / (aSecond * l.Speed()) * float64(time.Second)))
		if !sleep(ctx, time.Until(due)) {
			return
		}
		f(i)
	}
}

// turnOver creates and binds the pods that are due, and deletes as many of the oldest.
func (l *Load) turnOver(ctx context.Context, worker int, now *turn, due <-chan int) error {
	c := l.link(worker)
	defer c.close()
	for i := range due {
		if err := l.turnOne(ctx, c, now, i); err != nil {
			return err
		}
	}
	return nil
}

// turnOne creates, binds and reads a pod, and deletes the oldest. A request that was sent again may be refused: an answer was lost.
func (l *Load) turnOne(ctx context.Context, c *link, now *turn, i int) error {
	number := now.first + i
	get := l.request(reader, "GET", l.podPath(number), nil)
	now.sent[i].Store(time.Now().UnixNano())
	body, err := c.ask(ctx, "POST of a pod", l.create(controller, podsPath(l.namespaceOf(number)), l.newPod(number)), true)
	if isRefusal(err) {
		body, err = c.ask(ctx, "GET of a pod", get, true)
	}
	if err != nil {
		return err
	}
	created := &corev1.Pod{}
	if err := decode(body, created); err != nil {
		return err
	}
	now.bound[i].Store(time.Now().UnixNano())
	for _, next := range []struct {
		kind    string
		request []byte
	}{
		{"POST of a binding", l.create(scheduler, l.podPath(number)+"/binding", binding(number, created.UID, nodeName(number%l.Nodes)))},
		{"GET of a pod", get},
		{"DELETE of a pod", l.request(controller, "DELETE", l.podPath(number-l.Pods), nil)},
	} {
		if _, err := c.ask(ctx, next.kind, next.request, false); err != nil && !isRefusal(err) {
			return err
		}
	}
	return nil
}

func isRefusal(err error) bool { return errors.As(err, new(measure.StatusError)) }
