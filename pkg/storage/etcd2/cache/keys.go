package cache

import (
	"net/url"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/values"
)

// The keys in etcd. Those of tasks, controllers, services and endpoints are the
// original's: the kubelet, the proxy and the controller manager of that commit read
// them.
const (
	registryKey = "/registry"
	hostsKey    = "/registry/hosts"
	servicesKey = "/registry/services"

	// IndexKey is the directory of the index keys: one for each task's id, which says
	// where the task is. etcd leaves a name that begins with _ out of listings of
	// the directories above it, and out of watches of them that do not start in the
	// past, so readers of the original's keys do not see it.
	IndexKey = "/registry/_tasks"

	// syncKey never exists: reading it costs little, and the refusal has etcd's
	// version.
	syncKey = "/registry/_sync"
)

// HostKey is the directory of a machine.
func HostKey(machine string) string { return hostsKey + "/" + machine }

// KubeletKey is where the machine's list of manifests is.
func KubeletKey(machine string) string { return hostsKey + "/" + machine + "/kubelet" }

// IndexKeyOf is the index key of a task.
func IndexKeyOf(taskID string) string { return IndexKey + "/" + taskID }

// directoryOf is where the objects of a kind are, but for the tasks in the directory of a
// machine.
func directoryOf(kind api.Kind) string { return registryKey + values.Directory(kind) }

// Place is what a key is for: an object, or the list of manifests of a machine.
type Place struct {
	Kind    api.Kind // "" for a list
	ID      string
	Machine string // whose directory it is in: "" for pods, and for other kinds
}

// PlaceFor returns where an object is stored.
func PlaceFor(object api.Object) Place {
	p := Place{Kind: object.GetKind(), ID: object.GetID()}
	if task, ok := object.(*api.Task); ok && !task.IsPod {
		p.Machine = task.CurrentState.Host
	}
	return p
}

// PodPlace returns where a pod is stored.
func PodPlace(id string) Place { return Place{Kind: api.TaskKind, ID: id} }

// IsPod reports whether it is the place of a pod.
func (p Place) IsPod() bool { return p.Kind == api.TaskKind && p.Machine == "" }

// Key returns the key. A kind that is not in the table is a mistake in the program: Key
// panics.
func (p Place) Key() string {
	switch {
	case p.Kind == "":
		return KubeletKey(p.Machine)
	case p.Machine != "":
		return HostKey(p.Machine) + "/tasks/" + p.ID
	}
	return directoryOf(p.Kind) + "/" + segment(p.Kind, p.ID)
}

// segment returns the last segment of the key of an object. What etcd hides, and what its client
// cannot ask for, is escaped: ids have no percent sign.
func segment(kind api.Kind, id string) string {
	if !values.HasAnyName(kind) {
		return id
	}
	escaped := url.PathEscape(id)
	if rest, hidden := strings.CutPrefix(escaped, "_"); hidden {
		return "%5F" + rest
	}
	return escaped
}

// objectPlace returns the place that a key in the directory of a kind is for.
func objectPlace(kind api.Kind, key string) Place {
	id := BaseName(key)
	if escaped, err := url.PathUnescape(id); err == nil && segment(kind, escaped) == id {
		id = escaped // else another program has written the key
	}
	return Place{Kind: kind, ID: id}
}

// podIndex begins the value of a pod's index key. No name of a machine does.
const podIndex = "pods/"

// IndexValue returns the value of a task's index key: its machine; and for a pod that it
// is one, and the machine with which it is created, which may be "".
func (p Place) IndexValue(machine string) string {
	if p.IsPod() {
		return podIndex + machine
	}
	return p.Machine
}

// Indexed returns what an index key says of its task: where it is stored, and with which
// machine it was created. If ok is false, it says nothing.
func Indexed(id, value string) (p Place, machine string, ok bool) {
	if machine, isPod := strings.CutPrefix(value, podIndex); isPod && (machine == "" || IsName(machine)) {
		return PodPlace(id), machine, true
	}
	if !IsName(value) {
		return Place{}, "", false
	}
	return Place{Kind: api.TaskKind, ID: id, Machine: value}, value, true
}

// placeOf returns what a key is for. If ours is false, the key means nothing to the
// store. If valid is false, the key is where the store expects something else, such
// as a directory.
func placeOf(key string) (p Place, ours, valid bool) {
	if strings.Contains(key, "/_") || (key != registryKey && !strings.HasPrefix(key, registryKey+"/")) {
		return Place{}, false, true
	}
	machine, id := machineOf(key), BaseName(key)
	switch key {
	case KubeletKey(machine):
		return Place{Machine: machine}, true, true
	case HostKey(machine) + "/tasks/" + id:
		return Place{Kind: api.TaskKind, ID: id, Machine: machine}, true, true
	}
	for _, kind := range values.Kinds() {
		if key == directoryOf(kind)+"/"+id {
			return objectPlace(kind, key), true, true
		}
	}
	return Place{}, false, false
}

// machineOf is the machine whose directory a key is in, "" when it is in none.
func machineOf(key string) string {
	rest, found := strings.CutPrefix(key, hostsKey+"/")
	if !found {
		return ""
	}
	machine, _, _ := strings.Cut(rest, "/")
	return machine
}

// BaseName is the last segment of a key.
func BaseName(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// IsName reports whether a text can be a segment of a key that is not hidden.
func IsName(text string) bool {
	return text != "" && text[0] != '_' && text[0] != '.' && !strings.Contains(text, "/")
}

// KeyInWords returns a key in a form that is fit for an error: another program may
// have written any key.
func KeyInWords(key string) string {
	const limit = 400
	if len(key) > limit {
		key = key[:limit] + "..."
	}
	return api.Printable(key, '?')
}
