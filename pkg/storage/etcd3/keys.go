package etcd3

import (
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// keys are the keys below a prefix: one for each object, and one for each claim that an
// object holds, whose value is the path of the object.
type keys struct {
	prefix string
	claims string // what the keys of all claims begin with
}

func makeKeys(prefix string) keys { return keys{prefix, prefix + "/" + api.HostPorts + "/"} }

// root is what all keys begin with; it is none itself.
func (k keys) root() string { return k.prefix + "/" }

// all is what the keys of the objects of a namespace begin with, or those of all namespaces.
func (k keys) all(selection storage.Selection) string {
	directory := k.prefix + values.Directory(selection.Kind) + "/"
	if selection.Namespace != "" {
		directory += selection.Namespace + "/"
	}
	return directory
}

func (k keys) object(of api.Key) string { return k.prefix + values.Path(of) }

// place returns the object that a key is for; ok is false if it is for none.
func (k keys) place(key string) (of api.Key, ok bool) {
	if k.isClaim(key) {
		return of, false
	}
	return values.KeyAt(key[len(k.prefix):])
}

// isEarlier reports whether a key is that of an object in the layout without namespaces.
func (k keys) isEarlier(key string) bool { return values.LacksNamespace(key[len(k.prefix):]) }

func (k keys) isClaim(key string) bool { return strings.HasPrefix(key, k.claims) }

func (k keys) claim(claim api.Claim) string { return k.prefix + "/" + claim.Path() }
