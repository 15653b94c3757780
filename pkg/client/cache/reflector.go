package cache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// ListerWatcher lists the objects of a kind, and watches them. A clientv1.Resource is one.
type ListerWatcher[T clientv1.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (*clientv1.List[T], error)
	Watch(ctx context.Context, options metav1.ListOptions) iter.Seq2[clientv1.Event[T], error]
}

// Select returns a ListerWatcher of the objects that two selectors, of labels and of fields,
// select. An empty one selects all.
func Select[T clientv1.Object](all ListerWatcher[T], labels, fields string) ListerWatcher[T] {
	return selection[T]{all, labels, fields}
}

type selection[T clientv1.Object] struct {
	all            ListerWatcher[T]
	labels, fields string
}

// List implements ListerWatcher.
func (s selection[T]) List(ctx context.Context, options metav1.ListOptions) (*clientv1.List[T], error) {
	options.LabelSelector, options.FieldSelector = s.labels, s.fields
	return s.all.List(ctx, options)
}

// Watch implements ListerWatcher.
func (s selection[T]) Watch(ctx context.Context, options metav1.ListOptions) iter.Seq2[clientv1.Event[T], error] {
	options.LabelSelector, options.FieldSelector = s.labels, s.fields
	return s.all.Watch(ctx, options)
}

// Sink receives what a reflector reads. Its methods are called one at a time.
type Sink[T any] interface {
	// Replace receives all objects, as of a version.
	Replace(objects []T, version string)
	// Set and Remove receive an object that was changed or deleted, at a version.
	Set(object T, version string)
	Remove(object T, version string)
	// Reached reports that there were no other changes up to a version.
	Reached(version string)
}

// Reflect copies the objects of a source to a sink until the context ends. The name is for the log.
func Reflect[T clientv1.Object](ctx context.Context, name string, source ListerWatcher[T], sink Sink[T]) {
	(&reflector[T]{name: name, source: source, sink: sink}).run(ctx)
}

const (
	// A watch lasts between watchTime and twice that, so that a dead connection is noticed.
	watchTime = 5 * time.Minute
	// watchLate is how long the server may be late to end a watch.
	watchLate = 30 * time.Second
	// After a failure the objects are listed again. The pause before it begins with minPause and
	// doubles up to maxPause. Jitter of up to the same time is added, so that the clients of a
	// server do not all return at once.
	minPause = 250 * time.Millisecond
	maxPause = 15 * time.Second
)

// reflector copies objects of an apiserver to a sink: it lists them, and then watches the
// changes. After any failure it lists again.
type reflector[T clientv1.Object] struct {
	name   string // of the objects, for the log
	source ListerWatcher[T]
	sink   Sink[T]

	pause  time.Duration // after the next failure
	failed string        // the last failure
	logged string        // the last failure that was logged
}

// run reflects until the context ends.
func (r *reflector[T]) run(ctx context.Context) {
	r.pause = minPause
	for {
		err := r.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		wait := r.pause + rand.N(r.pause) // no secret
		repeated := err.Error() == r.failed
		isNoNews := apierrors.IsServiceUnavailable(err) || // the log of the server has the reason, once for all reflectors
			!repeated && apierrors.IsNotFound(err) // a kind that is gone is not followed for long
		if r.failed = err.Error(); r.failed != r.logged && !isNoNews {
			r.logged = r.failed
			log.Printf("%s: %v; listing them again", r.name, err)
		}
		r.pause = min(2*r.pause, maxPause)
		if !util.Sleep(ctx, wait) {
			return
		}
	}
}

// listAndWatch lists the objects, and watches them until that fails.
func (r *reflector[T]) listAndWatch(ctx context.Context) error {
	list, err := r.source.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	r.sink.Replace(list.Items, list.ResourceVersion)
	for version := list.ResourceVersion; ; {
		if version, err = r.watch(ctx, version); err != nil {
			return err
		}
	}
}

var errShort = errors.New("the watch ended at once")

// watch watches the objects after a version until the server ends the watch. It returns the
// version that it has reached.
func (r *reflector[T]) watch(ctx context.Context, version string) (string, error) {
	lasts := watchTime + rand.N(watchTime) // no secret
	ctx, cancel := context.WithTimeout(ctx, lasts+watchLate)
	defer cancel()
	seconds := int64(lasts / time.Second)
	options := metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	began, events := time.Now(), 0
	for event, err := range r.source.Watch(ctx, options) {
		if err != nil {
			return "", err
		}
		version = event.Object.GetResourceVersion()
		switch event.Type {
		case watch.Added, watch.Modified:
			r.sink.Set(event.Object, version)
		case watch.Deleted:
			r.sink.Remove(event.Object, version)
		case watch.Bookmark:
			r.sink.Reached(version)
		default:
			return "", fmt.Errorf("an event of a watch is of the unknown type %q", event.Type)
		}
		events++
		r.pause, r.logged = minPause, ""
	}
	if events == 0 && time.Since(began) < time.Second { // without an error, a server that does not watch would be called without a pause
		return "", errShort
	}
	return version, nil
}
