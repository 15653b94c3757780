package registry

import "strings"

// The keys in etcd. All but the index are the original's: the kubelet, the
// proxy and the controller manager of that commit read them.
const (
	registryKey    = "/registry"
	hostsKey       = "/registry/hosts"
	controllersKey = "/registry/controllers"
	servicesKey    = "/registry/services"
	specsKey       = "/registry/services/specs"
	endpointsKey   = "/registry/services/endpoints"

	// indexKey has a key for each task's id, with its machine as the value. etcd
	// leaves a name that begins with _ out of listings of the directories above it,
	// and out of watches of them that do not start in the past, so readers of the
	// original's keys do not see it.
	indexKey = "/registry/_tasks"

	// syncKey never exists: reading it costs little, and the refusal has etcd's
	// index.
	syncKey = "/registry/_sync"
)

func hostKey(machine string) string            { return hostsKey + "/" + machine }
func kubeletKey(machine string) string         { return hostKey(machine) + "/kubelet" }
func tasksKey(machine string) string           { return hostKey(machine) + "/tasks" }
func taskKey(machine, taskID string) string    { return tasksKey(machine) + "/" + taskID }
func indexEntryKey(taskID string) string       { return indexKey + "/" + taskID }
func controllerKey(controllerID string) string { return controllersKey + "/" + controllerID }
func specKey(serviceID string) string          { return specsKey + "/" + serviceID }
func endpointKey(serviceID string) string      { return endpointsKey + "/" + serviceID }

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
