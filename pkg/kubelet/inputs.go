package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/util/pods"
)

const (
	// When a container cannot start because something is missing, that is looked for again after a pause
	// that begins with minRetry, and doubles up to maxRetry.
	minRetry = time.Second
	maxRetry = 15 * time.Second
	// maxInputs is how many bytes the config maps and secrets of a pod may have.
	maxInputs = 8 << 20
)

// reference names an object in the namespace of a pod that needs it.
type reference struct{ kind, name string }

// The kinds of objects that pods need, as today's messages call them.
const (
	aConfigMap = "configmap"
	aSecret    = "secret"
	aClaim     = "persistentvolumeclaims"
)

// missingError is the error of an object that does not exist.
type missingError reference

// Error implements error.
func (e missingError) Error() string { return fmt.Sprintf("%s %q not found", e.kind, e.name) }

// object is what a pod needs of an object.
type object struct {
	data   map[string][]byte
	binary map[string][]byte // of a config map: only for volumes
	had    bool              // it was there once. A volume stays as it was
	err    error             // why it cannot be had now; nil for nothing
}

// size returns its bytes, with those of the keys.
func (o object) size() (bytes int) {
	for _, values := range []map[string][]byte{o.data, o.binary} {
		for key, value := range values {
			bytes += len(key) + len(value)
		}
	}
	return bytes
}

// inputs is what the containers of a pod need from the server when they start. The mutex of the pod's
// worker guards it. A pod that needs nothing has none.
type inputs struct {
	objects map[reference]object
	fresh   bool          // they were fetched after the last start of a container
	due     time.Time     // when to fetch them; zero for not at all
	pause   time.Duration // before the last retry
}

// referencesOf returns what a pod needs, in the order of its definition.
func referencesOf(pod *corev1.Pod) (all []reference) {
	add := func(kind, name string) {
		if ref := (reference{kind, name}); !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	referVolumes(pod, add)
	for _, c := range containersOf(pod) {
		pods.EachOfEnvironment(c.spec, func(name string) { add(aConfigMap, name) }, func(name string) { add(aSecret, name) })
	}
	return all
}

// startAll starts containers, or lets fetch first what they need.
func (w *podWorker) startAll(numbers []int, now time.Time) {
	if len(numbers) == 0 {
		return
	}
	starting := make([]*container, len(numbers))
	for i, number := range numbers {
		starting[i] = w.containers[number]
	}
	if !w.isSupplied() {
		w.supply(starting, now)
		return
	}
	volumes, succeeded := w.setUpVolumes()
	for _, c := range starting {
		if volumes == nil {
			c.problem = &problem{}
		} else {
			succeeded = w.start(c, volumes) && succeeded
		}
	}
	w.settle(succeeded, now)
}

// isSupplied reports whether all is there that containers need to start, or it is known to be missing.
func (w *podWorker) isSupplied() bool {
	needed := referencesOf(w.pod)
	if w.inputs == nil {
		return len(needed) == 0
	}
	return w.inputs.fresh && !slices.ContainsFunc(needed, func(ref reference) bool {
		_, known := w.inputs.objects[ref]
		return !known
	})
}

// supply lets fetch what containers need. Those whose start has failed wait for their next try.
func (w *podWorker) supply(starting []*container, now time.Time) {
	if w.inputs == nil {
		w.inputs = &inputs{}
	}
	if w.inputs.due.IsZero() || slices.ContainsFunc(starting, func(c *container) bool { return c.problem == nil }) {
		w.inputs.due = now
		w.k.reports.Add(w.key)
	}
}

// settle ends a start of containers. What only their environment needs is forgotten: the next start
// needs it as it is then.
func (w *podWorker) settle(succeeded bool, now time.Time) {
	if succeeded && w.inputs == nil {
		return
	}
	if w.inputs == nil {
		w.inputs = &inputs{}
	}
	in := w.inputs
	in.fresh = false
	stay := map[reference]bool{}
	referVolumes(w.pod, func(kind, name string) { stay[reference{kind, name}] = true })
	maps.DeleteFunc(in.objects, func(ref reference, _ object) bool { return !stay[ref] })
	if succeeded {
		in.pause = 0
		return
	}
	in.pause = min(max(2*in.pause, minRetry), maxRetry)
	in.due = now.Add(in.pause)
	w.k.reports.AddAfter(w.key, in.pause)
}

// fetch fetches what the containers need, if it is due. The error is that of a server that cannot
// answer now.
func (w *podWorker) fetch(ctx context.Context, now time.Time) error {
	w.mu.Lock()
	pod, due := w.pod, time.Time{}
	if w.inputs != nil {
		due = w.inputs.due
	}
	w.mu.Unlock()
	if due.IsZero() {
		return nil
	}
	if wait := due.Sub(now); wait > 0 {
		w.k.reports.AddAfter(w.key, wait) // it may have come earlier, for the status
		return nil
	}
	fetched, left := map[reference]object{}, maxInputs
	for _, ref := range referencesOf(pod) {
		o, err := w.k.get(ctx, pod.Namespace, ref)
		if isAway(err) {
			return err
		}
		if apierrors.IsNotFound(err) {
			err = missingError(ref)
		}
		if size := o.size(); size > left {
			o, err = object{}, fmt.Errorf("%s %q is too large: a pod can use %d MiB of config maps and secrets", ref.kind, ref.name, maxInputs>>20)
		} else {
			left -= size
		}
		o.err, o.had = err, err == nil
		fetched[ref] = o
	}
	w.supplied(fetched)
	return nil
}

// supplied takes over what was fetched. What volumes have stays if it is gone now.
func (w *podWorker) supplied(fetched map[reference]object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, before := range w.inputs.objects {
		if now, asked := fetched[ref]; asked && now.err != nil {
			before.err = now.err
			fetched[ref] = before
		}
	}
	w.inputs.objects, w.inputs.fresh, w.inputs.due = fetched, true, time.Time{}
	w.k.pods.Add(w.key)
}

// get gets what a pod needs of an object.
func (k *Kubelet) get(ctx context.Context, namespace string, ref reference) (object, error) {
	client := k.Client.In(namespace)
	switch ref.kind {
	case aConfigMap:
		got, err := client.ConfigMaps().Get(ctx, ref.name)
		if err != nil {
			return object{}, err
		}
		data := make(map[string][]byte, len(got.Data))
		for key, text := range got.Data {
			data[key] = []byte(text)
		}
		return object{data: data, binary: got.BinaryData}, nil
	case aSecret:
		got, err := client.Secrets().Get(ctx, ref.name)
		if err != nil {
			return object{}, err
		}
		return object{data: got.Data}, nil
	}
	_, err := client.PersistentVolumeClaims().Get(ctx, ref.name)
	return object{}, err
}

// object returns an object that was fetched.
func (w *podWorker) object(kind, name string) object {
	if w.inputs == nil {
		return object{}
	}
	return w.inputs.objects[reference{kind, name}]
}
