package values

import (
	"strings"

	"kube2014/pkg/api"
)

// word is a kind that has a word of its own: the directory of its objects, and what makes an empty
// one.
type word struct {
	directory string
	make      func() api.Object
}

// words are the kinds of this type, in the directories in which today's server keeps them.
var words = map[api.Kind]word{
	api.TaskKind:       {"/pods", func() api.Object { return &api.Task{} }},
	api.ControllerKind: {"/controllers", func() api.Object { return &api.ReplicationController{} }},
	api.ServiceKind:    {"/services/specs", func() api.Object { return &api.Service{} }},
	api.EndpointsKind:  {"/services/endpoints", func() api.Object { return &api.Endpoints{} }},
	api.NodeKind:       {"/minions", func() api.Object { return &api.Node{} }},
	api.EventKind:      {"/events", func() api.Object { return &api.Event{} }},

	api.RoleKind:               {"/roles", func() api.Object { return &api.Role{} }},
	api.RoleBindingKind:        {"/rolebindings", func() api.Object { return &api.RoleBinding{} }},
	api.ClusterRoleKind:        {"/clusterroles", func() api.Object { return &api.ClusterRole{} }},
	api.ClusterRoleBindingKind: {"/clusterrolebindings", func() api.Object { return &api.ClusterRoleBinding{} }},

	api.QuotaKind: {"/quotas", func() api.Object { return &api.Quota{} }},
}

// builtIn are the groups of today's resources that are stored without their group.
var builtIn = map[string]string{
	"deployments": "apps", "replicasets": "apps", "statefulsets": "apps", "daemonsets": "apps", "controllerrevisions": "apps",
}

// wordAt has the kinds of words, by directory.
var wordAt = func() map[string]api.Kind {
	all := map[string]api.Kind{}
	for kind, word := range words {
		all[word.directory] = kind
	}
	return all
}()

// Words returns the kinds that have a word of their own, in no order.
func Words() (kinds []api.Kind) {
	for kind := range words {
		kinds = append(kinds, kind)
	}
	return kinds
}

// isNamespaced reports whether the objects of a kind with a word of its own have a namespace.
func isNamespaced(kind api.Kind) bool {
	_, hasWord := words[kind]
	return hasWord && api.DefaultKey(kind, "").Namespace != ""
}

// Directory returns where the objects of a kind are, below the prefix of all keys: where
// today's server keeps them. Those of a group that is not its own are in a directory of the group.
func Directory(kind api.Kind) string {
	if word, ok := words[kind]; ok {
		return word.directory
	}
	resource, group, _ := strings.Cut(string(kind), ".")
	if group == "" || builtIn[resource] == group {
		return "/" + resource
	}
	return "/" + group + "/" + resource
}

// Path returns where an object is, below the prefix of all keys.
func Path(key api.Key) string {
	if key.Namespace == "" {
		return Directory(key.Kind) + "/" + key.ID
	}
	return Directory(key.Kind) + "/" + key.Namespace + "/" + key.ID
}

// KeyAt is the inverse of Path. If ok is false, no object has the path.
func KeyAt(path string) (key api.Key, ok bool) {
	segments := strings.Split(path, "/")
	if len(segments) < 3 || segments[0] != "" {
		return key, false
	}
	directory, isGroup := 2, strings.Contains(segments[1], ".") // how many segments it has
	if isGroup || segments[1] == "services" {
		directory = 3
	}
	if len(segments) <= directory || segments[1] == "" || isGroup && (segments[2] == "" || strings.Contains(segments[2], ".")) {
		return key, false
	}
	kind, hasWord := wordAt[strings.Join(segments[:directory], "/")]
	switch group := builtIn[segments[1]]; {
	case hasWord:
		key.Kind = kind
	case isGroup:
		key.Kind = api.Kind(segments[2] + "." + segments[1])
	case directory == 3:
		return key, false
	case group != "":
		key.Kind = api.Kind(segments[1] + "." + group)
	default:
		key.Kind = api.Kind(segments[1])
	}
	switch rest := segments[directory:]; {
	case len(rest) == 1 && rest[0] != "" && !isNamespaced(kind):
		key.ID = rest[0]
	case len(rest) == 2 && rest[0] != "" && rest[1] != "" && hasWord == isNamespaced(kind):
		key.Namespace, key.ID = rest[0], rest[1]
	default:
		return key, false
	}
	return key, true
}

// LacksNamespace reports whether a path is that of an object with a namespace in a layout that had none.
func LacksNamespace(path string) bool {
	end := strings.LastIndexByte(path, '/')
	return end >= 0 && end < len(path)-1 && isNamespaced(wordAt[path[:end]])
}

// New returns an empty object of a key.
func New(key api.Key) api.Object {
	var object api.Object = &api.Any{Kind: key.Kind}
	if word, ok := words[key.Kind]; ok {
		object = word.make()
	}
	setKey(object, key)
	return object
}

// setKey gives an object of the kind a key.
func setKey(object api.Object, key api.Key) {
	object.(interface{ SetID(string) }).SetID(key.ID)
	if _, hasWord := words[key.Kind]; hasWord && key.Namespace == api.NamespaceDefault {
		key.Namespace = ""
	}
	object.Meta().Namespace = key.Namespace
}
