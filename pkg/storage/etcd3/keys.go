package etcd3

import (
	"strconv"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// keys are the keys below a prefix: one for each object, and one for each host port that a
// task has, whose value is the id of the task.
type keys struct {
	root        string              // what all keys begin with; none itself
	directories map[api.Kind]string // what the keys of all objects of a kind begin with
	hostPorts   string              // likewise of all host ports
}

// place is what the key of an object is for.
type place struct {
	kind api.Kind
	id   string
}

func makeKeys(prefix string) keys {
	k := keys{root: prefix + "/", directories: map[api.Kind]string{}, hostPorts: prefix + "/hostports/"}
	for _, kind := range values.Kinds() {
		k.directories[kind] = prefix + values.Directory(kind) + "/"
	}
	return k
}

func (k keys) object(at place) string { return k.directories[at.kind] + at.id }

// place returns what a key is for; ok is false if it is for no object.
func (k keys) place(key string) (at place, ok bool) {
	for kind, directory := range k.directories {
		if id, ok := strings.CutPrefix(key, directory); ok && id != "" && !strings.Contains(id, "/") {
			return place{kind, id}, true
		}
	}
	return place{}, false
}

func (k keys) isHostPort(key string) bool {
	port, ok := strings.CutPrefix(key, k.hostPorts)
	machine, number, _ := strings.Cut(port, "/")
	_, err := strconv.ParseUint(number, 10, 16)
	return ok && machine != "" && err == nil
}

func (k keys) hostPort(port storage.HostPort) string {
	return k.hostPorts + port.Machine + "/" + strconv.Itoa(port.Port)
}
