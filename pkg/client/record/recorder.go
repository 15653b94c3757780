package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
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
	// cacheSize is of how many objects and types the recorder knows at least what it told of them. It knows up to twice as many.
	cacheSize = 512
	// burst is how many events of an object and a type are written at once, then one each refill, as by today's controllers
	// and kubelets.
	burst  = 25
	refill = 5 * time.Minute
	// similar is how many events of one object, type and reason have messages of their own. Further ones are combined, until
	// none came for similarTime. That is as today's parts do it, too.
	similar     = 9
	similarTime = 10 * time.Minute
	combined    = "(combined from similar events)"
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

// Recorder is an EventRecorder that writes to an apiserver. An event like an earlier one only increases the count of that one.
// If too many come of one object and type, some are counted and not written. A Recorder is safe for concurrent use.
type Recorder struct {
	Config
	queue  chan *corev1.Event
	lost   atomic.Int64 // how many events were lost since that was last logged
	recent map[subject]*told
	before map[subject]*told // those that were recent before
	last   atomic.Int64      // in the names of events
}

var _ EventRecorder = (*Recorder)(nil)

// subject is what events are about, and their type.
type subject struct {
	uid                              types.UID
	kind, namespace, name, eventType string
}

// told is what was told of a subject.
type told struct {
	limiter *rate.Limiter
	reasons map[string]*series
}

// series are the events of a subject with one reason.
type series struct {
	events []*known
	last   time.Time
}

// known is an event that was told. It has no name until it is written.
type known struct {
	message, name string
	count         int32
}

// NewRecorder returns a recorder. Run writes its events.
func NewRecorder(config Config) *Recorder {
	return &Recorder{Config: config, queue: make(chan *corev1.Event, queueSize), recent: map[subject]*told{}}
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
	of := r.toldOf(event)
	like := of.like(event)
	like.count++
	if !of.limiter.AllowN(event.EventTime.Time, 1) {
		return
	}
	for range tries {
		err := r.try(ctx, event, like)
		switch {
		case err == nil, ctx.Err() != nil:
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

// toldOf returns what was told of the subject of an event.
func (r *Recorder) toldOf(event *corev1.Event) *told {
	about := event.InvolvedObject
	of := subject{about.UID, about.Kind, about.Namespace, about.Name, event.Type}
	if r.recent[of] == nil {
		if len(r.recent) >= cacheSize {
			r.before, r.recent = r.recent, map[subject]*told{}
		}
		r.recent[of] = cmp.Or(r.before[of], &told{rate.NewLimiter(rate.Every(refill), burst), map[string]*series{}})
	}
	return r.recent[of]
}

// like returns the event that another one repeats, or is combined with. If there is none, it is a new one.
func (t *told) like(event *corev1.Event) *known {
	now, of := event.EventTime.Time, t.reasons[event.Reason]
	if of == nil || now.Sub(of.last) >= similarTime {
		of = &series{}
		t.reasons[event.Reason] = of
	}
	of.last = now
	message := event.Message
	has := func(k *known) bool { return k.message == message }
	i := slices.IndexFunc(of.events, has)
	if i < 0 && len(of.events) >= similar {
		message, event.Message = combined, shorten(combined+": "+event.Message)
		i = slices.IndexFunc(of.events, has)
	}
	if i < 0 {
		i = len(of.events)
		of.events = append(of.events, &known{message: message})
	}
	return of.events[i]
}

// try writes an event: if it is like one that was written, into that one.
func (r *Recorder) try(ctx context.Context, event *corev1.Event, like *known) error {
	if like.count > 1 {
		event.Series = &corev1.EventSeries{Count: like.count, LastObservedTime: event.EventTime}
	}
	if like.name != "" {
		patch, err := json.Marshal(map[string]any{"series": event.Series, "message": event.Message})
		if err != nil {
			return err
		}
		_, err = r.Client.In(event.Namespace).Events().Patch(ctx, like.name, types.MergePatchType, patch)
		if !apierrors.IsNotFound(err) { // it has ended, or somebody has deleted it
			return err
		}
	}
	_, err := r.Client.In(event.Namespace).Events().Create(ctx, event)
	if apierrors.IsAlreadyExists(err) { // written, and the answer was lost
		err = nil
	}
	if err == nil {
		like.name = event.Name
	}
	return err
}
