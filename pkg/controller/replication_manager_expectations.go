package controller

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// expectedTime is how long the informer may take to show what was done. After that a fresh list
// decides. A server does not carry out a request that late.
const expectedTime = 5 * time.Minute

// expectations are what a manager has done to the pods of one controller and the informer is still
// to show. Only the worker that has the controller's key uses them.
type expectations struct {
	owner types.UID // of the controller

	created  map[string]created     // by the pods' names
	deleted  map[types.UID]deletion // of pods that the informer shows as if they went on
	reserved map[string]time.Time   // names of pods that may have been created: the answer was lost then
	seen     version                // what a fresh list has shown, the informer is to show too
}

// version is one that the informer's copy is to have reached. Without number there is none.
type version struct {
	number string
	since  time.Time
}

// created is a pod that was created, or was found to be there, at a version.
type created struct {
	uid types.UID
	at  version
}

// deletion is a deletion that was asked for. Without an answer it is not done.
type deletion struct {
	name  string
	done  bool
	since time.Time
}

func newExpectations(owner types.UID) *expectations {
	return &expectations{owner: owner, created: map[string]created{}, deleted: map[types.UID]deletion{}, reserved: map[string]time.Time{}}
}

// create notes that a pod is there.
func (e *expectations) create(pod *corev1.Pod) {
	delete(e.reserved, pod.Name)
	e.created[pod.Name] = created{pod.UID, version{pod.ResourceVersion, time.Now()}}
}

// observe takes what the informer shows: all of a namespace's pods, at a version or later.
func (e *expectations) observe(pods []*corev1.Pod, number string) {
	active := map[types.UID]bool{}
	for _, pod := range pods {
		if was, ok := e.created[pod.Name]; ok && was.uid == pod.UID {
			delete(e.created, pod.Name)
		}
		delete(e.reserved, pod.Name) // whoever has it
		active[pod.UID] = isActive(pod)
	}
	for name, was := range e.created {
		if reached(number, was.at.number) {
			delete(e.created, name)
		}
	}
	for name, since := range e.reserved {
		if time.Since(since) >= expectedTime {
			delete(e.reserved, name)
		}
	}
	for uid := range e.deleted {
		if !active[uid] {
			delete(e.deleted, uid)
		}
	}
	if reached(number, e.seen.number) {
		e.seen = version{}
	}
}

// decide forgets everything: pods were listed at a version.
func (e *expectations) decide(number string) {
	clear(e.created)
	clear(e.deleted)
	e.seen = version{number, time.Now()}
}

// isMet reports whether the informer shows all pods that were created. Deleted ones need not be
// waited for: it is known which they are.
func (e *expectations) isMet() bool { return len(e.created) == 0 && e.seen.number == "" }

// isOverdue reports whether something has not been seen for too long.
func (e *expectations) isOverdue() bool {
	for _, was := range e.created {
		if time.Since(was.at.since) >= expectedTime {
			return true
		}
	}
	for _, was := range e.deleted {
		if was.done && time.Since(was.since) >= expectedTime {
			return true
		}
	}
	return e.seen.number != "" && time.Since(e.seen.since) >= expectedTime
}

// without returns those pods that have not been deleted.
func (e *expectations) without(pods []*corev1.Pod) []*corev1.Pod {
	var left []*corev1.Pod
	for _, pod := range pods {
		if _, isDeleted := e.deleted[pod.UID]; !isDeleted {
			left = append(left, pod)
		}
	}
	return left
}

// reached reports whether a version is as new as another one. Versions that are no numbers cannot
// be compared.
func reached(number, wanted string) bool {
	is, err1 := strconv.ParseUint(number, 10, 64)
	want, err2 := strconv.ParseUint(wanted, 10, 64)
	if err1 != nil || err2 != nil {
		return number == wanted
	}
	return is >= want
}
