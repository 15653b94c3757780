package etcd3

import (
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// keys makes the keys below a prefix: one for each object, and one for each claim of an
// object, whose value is the path of the object.
type keys struct {
	prefix string
	claims string // the prefix of the keys of claims
}

func makeKeys(prefix string) keys { return keys{prefix, prefix + "/" + api.HostPorts + "/"} }

// root returns the common prefix of all keys. It is not a key itself.
func (k keys) root() string { return k.prefix + "/" }

// all returns the common prefix of the keys of a kind in a namespace, or in all namespaces.
func (k keys) all(selection storage.Selection) string {
	directory := k.prefix + values.Directory(selection.Kind) + "/"
	if selection.Namespace != "" {
		directory += selection.Namespace + "/"
	}
	return directory
}

func (k keys) object(of api.Key) string { return k.prefix + values.Path(of) }

// place returns the object of a key; ok is false if the key is not for an object.
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
