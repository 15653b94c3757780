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

	// objectsKey is the directory of all objects that have no place of their own below the
	// registry: those of other namespaces, and of kinds that came later. June 2014's
	// programs do not read it.
	objectsKey = "/registry/objects"

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

// early are the kinds that have a directory of their own below the registry, beside June 2014's: those of
// the time when objects had no namespaces. The value is whether their objects have one now.
var early = map[api.Kind]bool{
	api.TaskKind: true, api.ControllerKind: true, api.ServiceKind: true, api.EndpointsKind: true, api.NodeKind: false,
	"events": true, "roles": true, "rolebindings": true, "clusterroles": false, "clusterrolebindings": false,
}

// directories are where the objects of the early kinds are: those of the namespace default, and those
// that have none. Tasks that are no pods are in the directory of a machine.
var directories, kindAt = func() (map[api.Kind]string, map[string]api.Kind) {
	of, at := map[api.Kind]string{}, map[string]api.Kind{}
	for kind := range early {
		of[kind] = registryKey + values.Directory(kind)
		at[of[kind]] = kind
	}
	return of, at
}()

// Place is what a key is for: an object, or the list of manifests of a machine.
type Place struct {
	Kind      api.Kind // "" for a list
	Namespace string
	ID        string
	Machine   string // whose directory it is in: "" for pods, and for other kinds
}

// PlaceOf returns where an object is stored, unless it is a task that is no pod.
func PlaceOf(key api.Key) Place { return Place{Kind: key.Kind, Namespace: key.Namespace, ID: key.ID} }

// PlaceFor returns where an object is stored.
func PlaceFor(object api.Object) Place {
	p := PlaceOf(object.Key())
	if task, ok := object.(*api.Task); ok && p.IsPod() && !task.IsPod {
		p.Machine = task.CurrentState.Host
	}
	return p
}

// taskPlace returns where a task is stored that is no pod.
func taskPlace(machine, id string) Place {
	p := PodPlace(id)
	p.Machine = machine
	return p
}

// PodPlace returns where a pod is stored.
func PodPlace(id string) Place { return PlaceOf(api.DefaultKey(api.TaskKind, id)) }

// Of returns the key of the object.
func (p Place) Of() api.Key { return api.Key{Kind: p.Kind, Namespace: p.Namespace, ID: p.ID} }

// IsTask reports whether an object is a task, or a pod, of the namespace default. Only these are in
// the lists of machines.
func IsTask(key api.Key) bool {
	return key.Kind == api.TaskKind && key.Namespace == api.NamespaceDefault
}

// IsPod reports whether it is the place of a pod of the namespace default.
func (p Place) IsPod() bool { return IsTask(p.Of()) && p.Machine == "" }

// Key returns the key.
func (p Place) Key() string {
	of := p.Of()
	if p.escapes() {
		of.ID = escape(p.ID)
	}
	switch {
	case p.Kind == "":
		return KubeletKey(p.Machine)
	case p.Machine != "":
		return HostKey(p.Machine) + "/tasks/" + p.ID
	case p.isBelowObjects():
		return objectsKey + values.Path(of)
	}
	return directories[p.Kind] + "/" + of.ID
}

// isBelowObjects reports whether the place is below objectsKey.
func (p Place) isBelowObjects() bool {
	return directories[p.Kind] == "" || (p.Namespace != "" && p.Namespace != api.NamespaceDefault)
}

// escapes reports whether ids are escaped in a key: they may have spaces, and signs that mean
// something there.
func (p Place) escapes() bool {
	switch p.Kind {
	case "events", "roles", "rolebindings", "clusterroles", "clusterrolebindings":
		return true
	}
	return p.isBelowObjects()
}

// escape escapes in the last segment of a key what etcd hides, and what its client cannot ask for.
func escape(id string) string {
	escaped := url.PathEscape(id)
	if rest, hidden := strings.CutPrefix(escaped, "_"); hidden {
		return "%5F" + rest
	}
	return escaped
}

// objectPlace returns the place that a key is for whose last segment is an id.
func objectPlace(of api.Key) Place {
	p := PlaceOf(of)
	if p.escapes() {
		if id, err := url.PathUnescape(of.ID); err == nil && escape(id) == of.ID && !strings.Contains(id, "/") {
			p.ID = id // else another program has written the key
		}
	}
	return p
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
	return taskPlace(value, id), value, true
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
		return taskPlace(machine, id), true, true
	}
	if path, below := strings.CutPrefix(key, objectsKey); below {
		of, ok := values.KeyAt(path)
		p = objectPlace(of)
		ok = ok && p.Key() == key
		return p, ok, ok
	}
	if kind := kindAt[strings.TrimSuffix(key, "/"+id)]; kind != "" {
		of := api.Key{Kind: kind, ID: id}
		if early[kind] {
			of.Namespace = api.NamespaceDefault
		}
		return objectPlace(of), true, true
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
