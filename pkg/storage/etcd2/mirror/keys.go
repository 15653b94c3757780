package mirror

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
	// registry: those of other namespaces, of kinds that came later, and the service of the server
	// itself (D49). June 2014's programs do not read it.
	objectsKey = "/registry/objects"

	// IndexKey is the directory of the index keys: one for each task id, which names the
	// place of the task. etcd omits names that begin with _ from listings of the
	// directories above, and from watches of these that do not start in the past, so
	// readers of the original's keys do not see it.
	IndexKey = "/registry/_tasks"

	// syncKey never exists: reading it is cheap, and the refusal includes etcd's
	// version.
	syncKey = "/registry/_sync"
)

// HostKey returns the directory of a machine.
func HostKey(machine string) string { return hostsKey + "/" + machine }

// KubeletKey returns the key of a machine's list of manifests.
func KubeletKey(machine string) string { return hostsKey + "/" + machine + "/kubelet" }

// IndexKeyOf returns the index key of a task.
func IndexKeyOf(taskID string) string { return IndexKey + "/" + taskID }

// early has the kinds with a directory of their own below the registry: June 2014's, and those of the
// time when objects had no namespaces. The value is whether their objects have one now.
var early = map[api.Kind]bool{
	api.TaskKind: true, api.ControllerKind: true, api.ServiceKind: true, api.EndpointsKind: true, api.NodeKind: false,
	"events": true, "roles": true, "rolebindings": true, "clusterroles": false, "clusterrolebindings": false,
}

// directories has the directory of each early kind, for objects in the namespace default and for
// those without a namespace. Tasks that are not pods are in the directory of a machine.
var directories, kindAt = func() (map[api.Kind]string, map[string]api.Kind) {
	of, at := map[api.Kind]string{}, map[string]api.Kind{}
	for kind := range early {
		of[kind] = registryKey + values.Directory(kind)
		at[of[kind]] = kind
	}
	return of, at
}()

// Place identifies what a key stores: an object, or the list of manifests of a machine.
type Place struct {
	Kind      api.Kind // "" for a list
	Namespace string
	ID        string
	Machine   string // the machine whose directory has it; "" for pods and for other kinds
}

// PlaceOf returns the place of an object, unless it is a task that is not a pod.
func PlaceOf(key api.Key) Place { return Place{Kind: key.Kind, Namespace: key.Namespace, ID: key.ID} }

// PlaceFor returns the place of an object.
func PlaceFor(object api.Object) Place {
	p := PlaceOf(object.Key())
	if task, ok := object.(*api.Task); ok && p.IsPod() && !task.IsPod {
		p.Machine = task.CurrentState.Host
	}
	return p
}

// taskPlace returns the place of a task that is not a pod.
func taskPlace(machine, id string) Place {
	p := PodPlace(id)
	p.Machine = machine
	return p
}

// PodPlace returns the place of a pod.
func PodPlace(id string) Place { return PlaceOf(api.DefaultKey(api.TaskKind, id)) }

// Of returns the key of the object.
func (p Place) Of() api.Key { return api.Key{Kind: p.Kind, Namespace: p.Namespace, ID: p.ID} }

// IsTask reports whether an object is a task, or a pod, in the namespace default. Only these are in
// the lists of machines.
func IsTask(key api.Key) bool {
	return key.Kind == api.TaskKind && key.Namespace == api.NamespaceDefault
}

// IsPod reports whether the place is that of a pod in the namespace default.
func (p Place) IsPod() bool { return IsTask(p.Of()) && p.Machine == "" }

// Key returns the key in etcd.
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
	return directories[p.Kind] == "" || (p.Namespace != "" && p.Namespace != api.NamespaceDefault) || p.Of().IsServers()
}

// escapes reports whether ids are escaped in the key: they may have spaces and special
// characters.
func (p Place) escapes() bool {
	switch p.Kind {
	case "events", "roles", "rolebindings", "clusterroles", "clusterrolebindings":
		return true
	}
	return p.isBelowObjects()
}

// escape escapes an id as the last segment of a key: etcd hides some names, and its client cannot request others.
func escape(id string) string {
	escaped := url.PathEscape(id)
	if rest, hidden := strings.CutPrefix(escaped, "_"); hidden {
		return "%5F" + rest
	}
	return escaped
}

// objectPlace returns the place of an object, given the last segment of its key as the id.
func objectPlace(of api.Key) Place {
	p := PlaceOf(of)
	if p.escapes() {
		if id, err := url.PathUnescape(of.ID); err == nil && escape(id) == of.ID && !strings.Contains(id, "/") {
			p.ID = id // else another program has written the key
		}
	}
	return p
}

// podIndex is the prefix of the value of a pod's index key. No machine's name begins with it.
const podIndex = "pods/"

// IndexValue returns the value of a task's index key: its machine, or for a pod,
// podIndex and the machine at its creation, which may be "".
func (p Place) IndexValue(machine string) string {
	if p.IsPod() {
		return podIndex + machine
	}
	return p.Machine
}

// Indexed decodes the value of an index key: the place of the task, and its machine at
// its creation. If ok is false, the value is invalid.
func Indexed(id, value string) (p Place, machine string, ok bool) {
	if machine, isPod := strings.CutPrefix(value, podIndex); isPod && (machine == "" || IsName(machine)) {
		return PodPlace(id), machine, true
	}
	if !IsName(value) {
		return Place{}, "", false
	}
	return taskPlace(value, id), value, true
}

// placeOf returns the place of a key. If ours is false, the store does not use the
// key. If valid is false, the key is where the store expects something else, such as
// a directory.
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
		p, isServers := objectPlace(of), of.IsServers() // those are below objectsKey
		return p, !isServers, !isServers
	}
	return Place{}, false, false
}

// machineOf returns the machine whose directory has a key, "" for none.
func machineOf(key string) string {
	rest, found := strings.CutPrefix(key, hostsKey+"/")
	if !found {
		return ""
	}
	machine, _, _ := strings.Cut(rest, "/")
	return machine
}

// BaseName returns the last segment of a key.
func BaseName(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// IsName reports whether a text can be a segment of a key that etcd does not hide.
func IsName(text string) bool {
	return text != "" && text[0] != '_' && text[0] != '.' && !strings.Contains(text, "/")
}

// KeyInWords returns a key in printable form, shortened, for an error: another
// program may have written any key.
func KeyInWords(key string) string {
	const limit = 400
	if len(key) > limit {
		key = key[:limit] + "..."
	}
	return api.Printable(key, '?')
}
