package cache

import (
	"strings"

	"kube2014/pkg/api"
)

// The keys in etcd. All but the index keys are the original's: the kubelet, the
// proxy and the controller manager of that commit read them.
const (
	registryKey    = "/registry"
	hostsKey       = "/registry/hosts"
	controllersKey = "/registry/controllers"
	servicesKey    = "/registry/services"
	specsKey       = "/registry/services/specs"
	endpointsKey   = "/registry/services/endpoints"

	// IndexKey is the directory of the index keys: one for each task's id, with its
	// machine as the value. etcd leaves a name that begins with _ out of listings of
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

// TaskKey is where a task is.
func TaskKey(machine, taskID string) string { return hostsKey + "/" + machine + "/tasks/" + taskID }

// IndexKeyOf is the index key of a task.
func IndexKeyOf(taskID string) string { return IndexKey + "/" + taskID }

// directories has the directory of each kind of object that is not on a machine.
var directories = map[api.Kind]string{
	api.ControllerKind: controllersKey,
	api.ServiceKind:    specsKey,
	api.EndpointsKind:  endpointsKey,
}

// Place is what a key is for: an object, or the list of manifests of a machine.
type Place struct {
	Kind    api.Kind // "" for a list
	ID      string
	Machine string // of a task or a list
}

// Key returns the key.
func (p Place) Key() string {
	switch p.Kind {
	case "":
		return KubeletKey(p.Machine)
	case api.TaskKind:
		return TaskKey(p.Machine, p.ID)
	}
	return directories[p.Kind] + "/" + p.ID
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
	case TaskKey(machine, id):
		return Place{Kind: api.TaskKind, ID: id, Machine: machine}, true, true
	}
	for kind, directory := range directories {
		if key == directory+"/"+id {
			return Place{Kind: kind, ID: id}, true, true
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
