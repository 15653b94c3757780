package record

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

const (
	// queueSize is how many events wait to be written. Further ones are lost.
	queueSize = 1000
	// cacheSize is how many events are cached, and cacheTime how long. An event like a cached one
	// only increases its count.
	cacheSize = 4096
	cacheTime = 10 * time.Minute
	// tries is how often an event is sent that cannot be written, with a pause between.
	tries = 5
	pause = 2 * time.Second
)

// Config is what a Recorder needs.
type Config struct {
	Client    *clientv1.Client
	Component string // the name of the part that reports
	Host      string // of a kubelet: its node
}

// Recorder is an EventRecorder that writes to an apiserver. An event like one of the last minutes
// only increases the count of that one. It is safe for concurrent use.
type Recorder struct {
	Config
	queue chan *corev1.Event
	lost  atomic.Int64 // how many events were lost since that was last logged
	cache map[eventKey]cachedEvent
	last  atomic.Int64 // in the names of events
}

var _ EventRecorder = (*Recorder)(nil)

// eventKey is what events have in common that are counted together.
type eventKey struct {
	about                 types.UID
	name                  string
	kind, reason, message string
}

type cachedEvent struct {
	namespace, name string
	count           int32
	last            time.Time
}

// NewRecorder returns a recorder. Run writes its events.
func NewRecorder(config Config) *Recorder {
	return &Recorder{Config: config, queue: make(chan *corev1.Event, queueSize), cache: map[eventKey]cachedEvent{}}
}

// Eventf implements EventRecorder.
func (r *Recorder) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	r.add(time.Now(), about, eventType, reason, message, args)
}

func (r *Recorder) add(at time.Time, about clientv1.Object, eventType, reason, message string, args []interface{}) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	select {
	case r.queue <- r.makeEvent(at, about, eventType, reason, message):
	default:
		r.lost.Add(1)
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
		if len(r.queue) < queueSize/2 {
			if lost := r.lost.Swap(0); lost > 0 {
				log.Printf("%s: there were more events than can be written: %d are lost", r.Component, lost)
			}
		}
	}
}

// write writes an event, or increases the count of a like one. If that fails, it drops the event.
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
		if !util.Sleep(ctx, pause) {
			return
		}
	}
	log.Printf("%s: an event about %s is dropped: the server cannot be reached", r.Component, event.InvolvedObject.Name)
}

func (r *Recorder) try(ctx context.Context, event *corev1.Event) error {
	key := eventKey{event.InvolvedObject.UID, event.InvolvedObject.Name, event.Type, event.Reason, event.Message}
	before, cached := r.cache[key]
	if cached && event.EventTime.Sub(before.last) < cacheTime {
		series := corev1.EventSeries{Count: before.count + 1, LastObservedTime: event.EventTime}
		patch, err := json.Marshal(map[string]any{"series": series})
		if err != nil {
			return err
		}
		_, err = r.Client.In(before.namespace).Events().Patch(ctx, before.name, types.MergePatchType, patch)
		if err == nil {
			before.count, before.last = before.count+1, event.EventTime.Time
			r.cache[key] = before
		}
		if !apierrors.IsNotFound(err) { // it has ended, or somebody has deleted it
			return err
		}
	}
	_, err := r.Client.In(event.Namespace).Events().Create(ctx, event)
	if err == nil {
		r.evict(event.EventTime.Time)
		r.cache[key] = cachedEvent{event.Namespace, event.Name, 1, event.EventTime.Time}
	}
	return err
}

// evict makes room for one more event in the cache.
func (r *Recorder) evict(now time.Time) {
	if len(r.cache) < cacheSize {
		return
	}
	maps.DeleteFunc(r.cache, func(_ eventKey, before cachedEvent) bool { return now.Sub(before.last) >= cacheTime })
	if len(r.cache) >= cacheSize { // all are young: their next repetitions are new events
		clear(r.cache)
	}
}
