package values

import (
	"slices"
	"strings"

	"kube2014/pkg/api"
)

// directories has the kinds whose directory in today's server is not their name.
var directories = map[api.Kind]string{
	api.TaskKind:       "/pods",
	api.ControllerKind: "/controllers",
	api.ServiceKind:    "/services/specs",
	api.EndpointsKind:  "/services/endpoints",
	api.NodeKind:       "/minions",
}

// kindByDirectory is the inverse of directories.
var kindByDirectory = func() map[string]api.Kind {
	all := map[string]api.Kind{}
	for kind, directory := range directories {
		all[directory] = kind
	}
	return all
}()

// Directory returns the directory of the objects of a kind, below the prefix of all keys, as in
// today's server. Kinds of other groups are in a directory of the group.
func Directory(kind api.Kind) string {
	if directory, hasOwn := directories[kind]; hasOwn {
		return directory
	}
	resource, group, hasGroup := strings.Cut(string(kind), ".")
	if !hasGroup {
		return "/" + resource
	}
	return "/" + group + "/" + resource
}

// Path returns the path of an object below the prefix of all keys.
func Path(key api.Key) string {
	if key.Namespace == "" {
		return Directory(key.Kind) + "/" + key.ID
	}
	return Directory(key.Kind) + "/" + key.Namespace + "/" + key.ID
}

// KindAt returns the kind that the first segments of a path name, "" for none.
func KindAt(path string) api.Kind {
	kind, _ := cutKind(path)
	return kind
}

// cutKind returns the kind of a path, and the segments after it.
func cutKind(path string) (kind api.Kind, rest []string) {
	segments := strings.Split(path, "/")
	if len(segments) < 2 || segments[0] != "" || segments[1] == "" {
		return "", nil
	}
	isGroup := strings.Contains(segments[1], ".")
	if !isGroup && segments[1] != "services" {
		kind = api.Kind(segments[1])
		if known := kindByDirectory["/"+segments[1]]; known != "" {
			kind = known
		}
		return kind, segments[2:]
	}
	if len(segments) < 3 || segments[2] == "" || strings.Contains(segments[2], ".") {
		return "", nil
	}
	if isGroup {
		return api.Kind(segments[2] + "." + segments[1]), segments[3:]
	}
	return kindByDirectory["/services/"+segments[2]], segments[3:]
}

// KeyAt is the inverse of Path. If ok is false, no object has the path.
func KeyAt(path string) (key api.Key, ok bool) {
	kind, rest := cutKind(path)
	_, hasOwn := directories[kind]
	key.Kind = kind
	switch {
	case kind == "", LacksNamespace(path):
		return key, false
	case len(rest) == 1 && rest[0] != "" && (!hasOwn || kind == api.NodeKind):
		key.ID = rest[0]
	case len(rest) == 2 && rest[0] != "" && rest[1] != "" && kind != api.NodeKind:
		key.Namespace, key.ID = rest[0], rest[1]
	default:
		return key, false
	}
	return key, true
}

// early lists the directories of namespaced kinds in the earlier layout without namespaces.
var early = []string{"/pods", "/controllers", "/services/specs", "/services/endpoints", "/events", "/roles", "/rolebindings"}

// LacksNamespace reports whether a path is that of a namespaced object in the earlier layout.
func LacksNamespace(path string) bool {
	end := strings.LastIndexByte(path, '/')
	return end >= 0 && end < len(path)-1 && slices.Contains(early, path[:end])
}

// New returns an empty object with a key.
func New(key api.Key) api.Object {
	var object api.Object
	switch key.Kind {
	case api.TaskKind:
		object = &api.Task{}
	case api.ControllerKind:
		object = &api.ReplicationController{}
	case api.ServiceKind:
		object = &api.Service{}
	case api.EndpointsKind:
		object = &api.Endpoints{}
	default:
		object = &api.Any{Kind: key.Kind}
	}
	setKey(object, key)
	return object
}

// setKey sets the key of an object, which must be of its kind.
func setKey(object api.Object, key api.Key) {
	object.(interface{ SetID(string) }).SetID(key.ID)
	if _, isAny := object.(*api.Any); !isAny && key.Namespace == api.NamespaceDefault {
		key.Namespace = ""
	}
	object.Meta().Namespace = key.Namespace
}
