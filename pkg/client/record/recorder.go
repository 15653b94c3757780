package record

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
)

const (
	// queueSize is how many events wait to be written. What comes then is lost.
	queueSize = 1000
	// memory is how many events are remembered, and memoryTime how long: an event alike is counted
	// there.
	memory     = 4096
	memoryTime = 10 * time.Minute
	// An event that cannot be written is tried again so often, after such a pause.
	tries = 5
	pause = 2 * time.Second
)

// Config is what a Recorder needs.
type Config struct {
	Client    *clientv1.Client
	Component string // who tells: the name of a part
	Host      string // of a kubelet: its node
}

// Recorder is an EventRecorder that writes to an apiserver. An event like one of the last minutes
// is counted there instead. It is safe for concurrent use.
type Recorder struct {
	Config
	queue chan *corev1.Event
	lost  chan struct{} // has a value if events were lost since that was last logged
	known map[like]remembered
	last  atomic.Int64 // in the names of events
}

var _ EventRecorder = (*Recorder)(nil)

// like is what events have in common that are counted together.
type like struct {
	about                 types.UID
	name                  string
	kind, reason, message string
}

type remembered struct {
	namespace, name string
	count           int32
	last            time.Time
}

// NewRecorder returns a recorder. Run writes its events.
func NewRecorder(config Config) *Recorder {
	return &Recorder{Config: config, queue: make(chan *corev1.Event, queueSize), lost: make(chan struct{}, 1), known: map[like]remembered{}}
}

// Eventf implements EventRecorder.
func (r *Recorder) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	select {
	case r.queue <- r.makeEvent(about, eventType, reason, message):
	default:
		select {
		case r.lost <- struct{}{}:
		default: // it will be logged
		}
	}
}

// Run writes events until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-r.queue:
			r.write(ctx, event)
		}
		select {
		case <-r.lost:
			log.Printf("%s: there are more events than can be written: some are lost", r.Component)
		default:
		}
	}
}

// write writes an event, or counts it where one alike is. One that cannot be written is dropped.
func (r *Recorder) write(ctx context.Context, event *corev1.Event) {
	for range tries {
		err := r.try(ctx, event)
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case apierrors.IsAlreadyExists(err): // written, and the answer was lost
			return
		case clientv1.IsRefusal(err):
			log.Printf("%s: an event about %s is refused: %v", r.Component, event.InvolvedObject.Name, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
	log.Printf("%s: an event about %s is dropped: the server cannot be reached", r.Component, event.InvolvedObject.Name)
}

func (r *Recorder) try(ctx context.Context, event *corev1.Event) error {
	key := like{event.InvolvedObject.UID, event.InvolvedObject.Name, event.Type, event.Reason, event.Message}
	before, known := r.known[key]
	if known && event.LastTimestamp.Sub(before.last) < memoryTime {
		patch, err := json.Marshal(map[string]any{"count": before.count + 1, "lastTimestamp": event.LastTimestamp})
		if err != nil {
			return err
		}
		_, err = r.Client.In(before.namespace).Events().Patch(ctx, before.name, types.MergePatchType, patch)
		if err == nil {
			before.count, before.last = before.count+1, event.LastTimestamp.Time
			r.known[key] = before
		}
		if !apierrors.IsNotFound(err) { // it has ended, or somebody has deleted it
			return err
		}
	}
	_, err := r.Client.In(event.Namespace).Events().Create(ctx, event)
	if err == nil {
		r.forget(event.LastTimestamp.Time)
		r.known[key] = remembered{event.Namespace, event.Name, 1, event.LastTimestamp.Time}
	}
	return err
}

// forget makes room for one more event.
func (r *Recorder) forget(now time.Time) {
	if len(r.known) < memory {
		return
	}
	for key, before := range r.known {
		if now.Sub(before.last) >= memoryTime {
			delete(r.known, key)
		}
	}
	if len(r.known) >= memory { // all are young: those that come again are written again
		clear(r.known)
	}
}
