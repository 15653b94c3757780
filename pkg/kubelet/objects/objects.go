// Package objects fetches the objects that the containers of a pod need when they start: config maps, secrets, and the claims of
// volumes. Today's kubelet has managers of config maps and of secrets.
package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/pods"
)

// maxSize is how many bytes the config maps and secrets of a pod may have.
const maxSize = 8 << 20

// Reference names an object in the namespace of a pod that needs it.
type Reference struct{ Kind, Name string }

// The kinds of objects that pods need, as today's messages call them.
const (
	ConfigMap = "configmap"
	Secret    = "secret"
	Claim     = "persistentvolumeclaims"
)

// References are what a pod needs, each once, in the order of its definition.
type References []Reference

// Add adds a reference.
func (r *References) Add(kind, name string) {
	if ref := (Reference{kind, name}); !slices.Contains(*r, ref) {
		*r = append(*r, ref)
	}
}

// AddEnvironment adds what the environments of all containers of a pod need.
func (r *References) AddEnvironment(pod *corev1.Pod) {
	for c := range pods.Containers(&pod.Spec) {
		pods.EachOfEnvironment(c, func(name string) { r.Add(ConfigMap, name) }, func(name string) { r.Add(Secret, name) })
	}
}

// missingError is the error of an object that does not exist.
type missingError Reference

// Error implements error.
func (e missingError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.Name) }

// Unless returns an error, but nil if something is missing that is optional.
func Unless(optional *bool, err error) error {
	if optional != nil && *optional && errors.As(err, new(missingError)) {
		return nil
	}
	return err
}

// Object is what a pod needs of an object.
type Object struct {
	Data   map[string][]byte
	Binary map[string][]byte // of a config map: only for volumes
	Had    bool              // it was there once. A volume stays as it was
	Err    error             // why it cannot be had now; nil for nothing
}

// size returns its bytes, with those of the keys.
func (o Object) size() (bytes int) {
	for _, values := range []map[string][]byte{o.Data, o.Binary} {
		for key, value := range values {
			bytes += len(key) + len(value)
		}
	}
	return bytes
}

// Objects are objects in the namespace of a pod.
type Objects map[Reference]Object

// Fetch gets objects in a namespace. The error is that of a server that cannot answer now.
func Fetch(ctx context.Context, client *clientv1.Client, references References) (Objects, error) {
	fetched, left := Objects{}, maxSize
	for _, ref := range references {
		o, err := get(ctx, client, ref)
		if clientv1.IsAway(err) {
			return nil, err
		}
		if apierrors.IsNotFound(err) {
			err = missingError(ref)
		}
		if size := o.size(); size > left {
			o, err = Object{}, fmt.Errorf("%s %q is too large: a pod can use %d MiB of config maps and secrets", ref.Kind, ref.Name, maxSize>>20)
		} else {
			left -= size
		}
		o.Err, o.Had = err, err == nil
		fetched[ref] = o
	}
	return fetched, nil
}

// get gets what a pod needs of an object.
func get(ctx context.Context, client *clientv1.Client, ref Reference) (Object, error) {
	switch ref.Kind {
	case ConfigMap:
		got, err := client.ConfigMaps().Get(ctx, ref.Name)
		if err != nil {
			return Object{}, err
		}
		data := make(map[string][]byte, len(got.Data))
		for key, text := range got.Data {
			data[key] = []byte(text)
		}
		return Object{Data: data, Binary: got.BinaryData}, nil
	case Secret:
		got, err := client.Secrets().Get(ctx, ref.Name)
		if err != nil {
			return Object{}, err
		}
		return Object{Data: got.Data}, nil
	}
	_, err := client.PersistentVolumeClaims().Get(ctx, ref.Name)
	return Object{}, err
}
