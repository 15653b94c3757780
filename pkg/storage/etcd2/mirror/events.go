package mirror

import (
	"strings"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/storage"
)

// Extend fetches earlier changes from etcd's history, so that a watcher of another
// process can continue after a version that this one has not seen. If they are too
// many, or etcd no longer has them, nothing changes.
func (m *Mirror) Extend(after uint64) {
	enough := m.After(extendPatience)
	for since := m.Objects.Since(); after < since && since-after <= MaxEvents; {
		events, ok := m.fetchBetween(after, since, enough)
		if !ok {
			return
		}
		m.Objects.Extend(after, since, events)
		tried := since
		since = m.Objects.Since() // after; or another version, if the history has moved meanwhile: try again
		if since == tried {
			return // the history would be too long
		}
	}
}

// fetchBetween fetches the changes after a version, up to another one. It returns false
// if etcd does not return each of them in time, or enough receives a value.
func (m *Mirror) fetchBetween(after, until uint64, enough <-chan time.Time) (events []storage.Event, ok bool) {
	for version := after + 1; version <= until; version++ {
		select {
		case resp := <-m.fetchEvent(version):
			if !isPlain(resp, version) {
				return nil, false
			}
			if event, ok := eventOf(resp, version); ok {
				events = append(events, event)
			}
		case <-m.After(eventPatience):
			return nil, false
		case <-enough:
			return nil, false
		}
	}
	return events, true
}

// fetchEvent fetches one change; the channel receives nil if that fails. If etcd does
// not report the change, such as one of its own members, the failure comes when the
// client gives up.
func (m *Mirror) fetchEvent(version uint64) <-chan *etcd.Response {
	event := make(chan *etcd.Response, 1)
	go func() {
		resp, err := m.Client.Watch("/", version, true, nil, nil)
		if err != nil {
			resp = nil
		}
		event <- resp
	}()
	return event
}

// isPlain reports whether the answer of etcd is the wanted change, and one whose
// effect the mirror can determine.
func isPlain(event *etcd.Response, version uint64) bool {
	if event == nil || event.Node == nil || event.Node.ModifiedIndex != version {
		return false
	}
	_, ours, valid := placeOf(event.Node.Key)
	return valid && !(ours && (event.Node.Dir || (event.PrevNode != nil && event.PrevNode.Dir)))
}

func isDeletion(event *etcd.Response) bool {
	switch strings.ToLower(event.Action) {
	case "delete", "compareanddelete", "expire":
		return true
	}
	return false
}

// eventOf returns the event of a change, false if it affects no object.
func eventOf(change *etcd.Response, version uint64) (storage.Event, bool) {
	p, ours, _ := placeOf(change.Node.Key)
	if !ours || p.Kind == "" {
		return storage.Event{}, false
	}
	var before, after *storage.Object
	if change.PrevNode != nil {
		before = decodeObject(p, change.PrevNode, nil).Object
	}
	if !isDeletion(change) {
		after = decodeObject(p, change.Node, nil).Object
	}
	return storage.MakeEvent(before, after, version), before != nil || after != nil
}
