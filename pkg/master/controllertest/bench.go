// Package controllertest has what the tests of several controllers share. It works in a synctest bubble.
package controllertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

// userAgent is that of the test itself. Controllers have others.
const userAgent = "test"

// Bench is a server, a client of it, and what controllers tell. It is safe for concurrent use.
type Bench struct {
	*servertest.Server
	T   testing.TB
	API *clientv1.Client // of the test itself

	mu     sync.Mutex // guards what follows
	events []string
}

// New returns a bench that ends with the test.
func New(t testing.TB) *Bench {
	server := servertest.Start(t)
	return &Bench{Server: server, T: t, API: server.Client(t, userAgent)}
}

// InBubble runs a test with a bench in a bubble, in parallel to others.
func InBubble(t *testing.T, test func(t *testing.T, b *Bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, New(t)) })
}

// Eventf implements record.EventRecorder.
func (b *Bench) Eventf(about clientv1.Object, eventType, reason, message string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// TakeEvents returns the events so far, each as NAME TYPE REASON: MESSAGE, and forgets them.
func (b *Bench) TakeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// Settle lets time pass, and waits until nothing happens any more at its end.
func (b *Bench) Settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

// Run runs a new controller with two workers, and informers of its own, whose handlers see all objects again after each resync;
// 0: never. What it returns ends them, and waits for that.
func Run[C interface {
	Run(ctx context.Context, workers int)
}](b *Bench, resync time.Duration, make func(controller.Config) C) (stop func()) {
	client := b.Client(b.T, "controller")
	config := controller.Config{Client: client, Informers: informers.New(client, resync), Recorder: b}
	made := make(config)
	return servertest.Run(b.T, func(ctx context.Context) {
		config.Informers.Run(ctx)
		made.Run(ctx, 2)
	})
}
