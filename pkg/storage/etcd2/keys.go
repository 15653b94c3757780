package etcd2

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

	// indexKey is the directory of the index keys: one for each task's id, with its
	// machine as the value. etcd leaves a name that begins with _ out of listings of
	// the directories above it, and out of watches of them that do not start in the
	// past, so readers of the original's keys do not see it.
	indexKey = "/registry/_tasks"

	// syncKey never exists: reading it costs little, and the refusal has etcd's
	// index.
	syncKey = "/registry/_sync"
)

func hostKey(machine string) string         { return hostsKey + "/" + machine }
func kubeletKey(machine string) string      { return hostKey(machine) + "/kubelet" }
func tasksKey(machine string) string        { return hostKey(machine) + "/tasks" }
func taskKey(machine, taskID string) string { return tasksKey(machine) + "/" + taskID }
func indexKeyOf(taskID string) string       { return indexKey + "/" + taskID }

// directories has the directory of each kind of object that is not on a machine.
var directories = map[api.Kind]string{
	api.ControllerKind: controllersKey,
	api.ServiceKind:    specsKey,
	api.EndpointsKind:  endpointsKey,
}

// place is what a key is for: an object, or the list of manifests of a machine.
type place struct {
	kind    api.Kind // "" for a list
	id      string
	machine string // of a task or a list
}

func (p place) key() string {
	switch p.kind {
	case "":
		return kubeletKey(p.machine)
	case api.TaskKind:
		return taskKey(p.machine, p.id)
	}
	return directories[p.kind] + "/" + p.id
}

// placeOf returns what a key is for. If ours is false, the key means nothing to the
// store. If both are false, the key is where the store expects something else, such
// as a directory.
func placeOf(key string) (p place, ours, known bool) {
	if strings.Contains(key, "/_") || (key != registryKey && !strings.HasPrefix(key, registryKey+"/")) {
		return place{}, false, true
	}
	if machine := machineOf(key); machine != "" {
		p = place{machine: machine}
		if strings.HasPrefix(key, tasksKey(machine)+"/") {
			p.kind, p.id = api.TaskKind, baseName(key)
		}
		return p, p.key() == key, p.key() == key
	}
	for kind, directory := range directories {
		if p = (place{kind: kind, id: baseName(key)}); p.key() == key && key != directory {
			return p, true, true
		}
	}
	return place{}, false, false
}

// machineOf is the machine whose directory a key is in, "" when it is in none.
func machineOf(key string) string {
	below, found := strings.CutPrefix(key, hostsKey+"/")
	if !found {
		return ""
	}
	machine, _, _ := strings.Cut(below, "/")
	return machine
}

// baseName is the last segment of a key.
func baseName(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// isName reports whether a text can be a segment of a key that is not hidden.
func isName(text string) bool {
	return text != "" && text[0] != '_' && text[0] != '.' && !strings.Contains(text, "/")
}

// keyInWords returns a key in a form that is fit for an error: another program may
// have written any key.
func keyInWords(key string) string {
	const limit = 400
	if len(key) > limit {
		key = key[:limit] + "..."
	}
	return api.Printable(key, '?')
}
