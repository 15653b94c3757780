package record

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

const (
	// queueSize is how many events wait to be written. Further ones are lost.
	queueSize = 1000
	// cacheSize is of how many objects the events are cached, and cacheTime how long. An event like a cached one
	// only increases its count.
	cacheSize = 4096
	cacheTime = 10 * time.Minute
	// limit is how many events of an object may come at once, then one each limitTime. Of those that differ by their
	// messages only, the tenth and further ones are one. That is what today's parts do.
	limit     = 25
	limitTime = 5 * time.Minute
	similar   = 10
	combined  = "(combined from similar events)"
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
// only increases the count of that one. It drops events of an object of which it tells too many. It is safe for
// concurrent use.
type Recorder struct {
	Config
	queue chan *corev1.Event
	lost  atomic.Int64 // how many events were lost since that was last logged
	cache map[objectKey]*told
	last  atomic.Int64 // in the names of events
}

var _ EventRecorder = (*Recorder)(nil)

// objectKey is what events are about. The namespace of those about nodes is empty.
type objectKey struct {
	uid                   types.UID
	kind, namespace, name string
}

// told is what was told of an object.
type told struct {
	limiter *rate.Limiter
	events  []*cachedEvent
	last    time.Time
}

// eventKey is what events about an object have in common that are counted together.
type eventKey struct{ eventType, reason, message string }

type cachedEvent struct {
	eventKey
	namespace, name string
	count           int32
	last            time.Time
}

// NewRecorder returns a recorder. Run writes its events.
func NewRecorder(config Config) *Recorder {
	return &Recorder{Config: config, queue: make(chan *corev1.Event, queueSize), cache: map[objectKey]*told{}}
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

// write writes an event, or increases the count of a like one. If that fails, or if there are too many, it drops the event.
func (r *Recorder) write(ctx context.Context, event *corev1.Event) {
	of := r.toldOf(event)
	if !of.limiter.AllowN(of.last, 1) {
		return
	}
	known := of.like(event)
	for range tries {
		err := r.try(ctx, event, known)
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

// toldOf returns what was told of the object of an event within the last minutes.
func (r *Recorder) toldOf(event *corev1.Event) *told {
	object, now := event.InvolvedObject, event.EventTime.Time
	key := objectKey{object.UID, object.Kind, object.Namespace, object.Name}
	of, cached := r.cache[key]
	if !cached {
		r.evict(now)
		of = &told{limiter: rate.NewLimiter(rate.Every(limitTime), limit)}
		r.cache[key] = of
	}
	of.last = now
	of.events = slices.DeleteFunc(of.events, func(before *cachedEvent) bool { return now.Sub(before.last) >= cacheTime })
	return of
}

// like returns the event that this one repeats. If there is none, its count is 0.
func (of *told) like(event *corev1.Event) *cachedEvent {
	key := eventKey{event.Type, event.Reason, event.Message}
	find := func(known *cachedEvent) bool { return known.eventKey == key }
	i := slices.IndexFunc(of.events, find)
	if i < 0 && of.similar(key) >= similar-1 {
		key.message, event.Message = combined, shorten(combined+": "+event.Message)
		i = slices.IndexFunc(of.events, find)
	}
	if i >= 0 {
		return of.events[i]
	}
	of.events = append(of.events, &cachedEvent{eventKey: key})
	return of.events[len(of.events)-1]
}

// similar returns how many events differ by their messages only.
func (of *told) similar(key eventKey) (n int) {
	for _, known := range of.events {
		if known.eventType == key.eventType && known.reason == key.reason {
			n++
		}
	}
	return n
}

// try writes an event: if it repeats one, into that one.
func (r *Recorder) try(ctx context.Context, event *corev1.Event, known *cachedEvent) error {
	if known.count > 0 {
		series := corev1.EventSeries{Count: known.count + 1, LastObservedTime: event.EventTime}
		patch, err := json.Marshal(map[string]any{"series": series, "message": event.Message})
		if err != nil {
			return err
		}
		_, err = r.Client.In(known.namespace).Events().Patch(ctx, known.name, types.MergePatchType, patch)
		if err == nil {
			known.count, known.last = known.count+1, event.EventTime.Time
		}
		if !apierrors.IsNotFound(err) { // it has ended, or somebody has deleted it
			return err
		}
	}
	_, err := r.Client.In(event.Namespace).Events().Create(ctx, event)
	if err == nil {
		known.namespace, known.name, known.count, known.last = event.Namespace, event.Name, 1, event.EventTime.Time
	}
	return err
}

// evict makes room for one more object in the cache.
func (r *Recorder) evict(now time.Time) {
	if len(r.cache) < cacheSize {
		return
	}
	maps.DeleteFunc(r.cache, func(_ objectKey, of *told) bool { return now.Sub(of.last) >= cacheTime })
	if len(r.cache) >= cacheSize { // all are young: their next repetitions are new events
		clear(r.cache)
	}
}
