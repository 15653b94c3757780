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
type keys struct{ prefix string }

// place is what the key of an object is for.
type place struct {
	kind api.Kind
	id   string
}

// root is what all keys begin with. It is none itself.
func (k keys) root() string { return k.prefix + "/" }

// directory is what the keys of all objects of a kind begin with.
func (k keys) directory(kind api.Kind) string { return k.prefix + values.Directory(kind) + "/" }

func (k keys) object(at place) string { return k.directory(at.kind) + at.id }

// object returns what a key is for; ok is false if it is for no object.
func (k keys) place(key string) (at place, ok bool) {
	for _, kind := range values.Kinds() {
		if id, ok := strings.CutPrefix(key, k.directory(kind)); ok && id != "" && !strings.Contains(id, "/") {
			return place{kind, id}, true
		}
	}
	return place{}, false
}

func (k keys) hostPorts() string { return k.prefix + "/hostports/" }

func (k keys) isHostPort(key string) bool { return strings.HasPrefix(key, k.hostPorts()) }

func (k keys) hostPort(port storage.HostPort) string {
	return k.hostPorts() + port.Machine + "/" + strconv.Itoa(port.Port)
}
