// Package volumemanager sets up the volumes of pods, and mounts them. What is only read is made from the pod and from objects of
// the server; the rest is empty at first.
package volumemanager

import (
	"fmt"
	"maps"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/envvars"
	"kube2014/pkg/kubelet/objects"
	"kube2014/pkg/util/pods"
)

// accessPrefix begins the name of the volume with a token that the server gives each pod. It is left
// empty: else each start of a pod would cost two requests.
const accessPrefix = "kube-api-access-"

// files is what is in a volume, by the path in it. The contents are shared: nobody may change them.
type files map[string][]byte

// Volume is a volume that is set up.
type Volume struct {
	files  files       // of one that is only read
	shared *cri.Volume // one that containers write to
}

// volumesOf returns the volumes of a pod that a container mounts. Others are not set up.
func volumesOf(pod *corev1.Pod) (used []*corev1.Volume) {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	mounted := map[string]bool{}
	for c := range pods.Containers(&pod.Spec) {
		for _, mount := range c.VolumeMounts {
			mounted[mount.Name] = true
		}
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; mounted[v.Name] && !strings.HasPrefix(v.Name, accessPrefix) {
			used = append(used, v)
		}
	}
	return used
}

// References returns what the volumes of a pod need.
func References(pod *corev1.Pod) (all objects.References) {
	for _, v := range volumesOf(pod) {
		switch {
		case v.ConfigMap != nil:
			all.Add(objects.ConfigMap, v.ConfigMap.Name)
		case v.Secret != nil:
			all.Add(objects.Secret, v.Secret.SecretName)
		case v.PersistentVolumeClaim != nil:
			all.Add(objects.Claim, v.PersistentVolumeClaim.ClaimName)
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				if source.ConfigMap != nil {
					all.Add(objects.ConfigMap, source.ConfigMap.Name)
				} else if source.Secret != nil {
					all.Add(objects.Secret, source.Secret.Name)
				}
			}
		}
	}
	return all
}

// Manager sets up the volumes of a pod. The mutex of the pod's worker guards it.
type Manager struct {
	shared map[string]*cri.Volume // that containers have written to, by name
}

// SetUp returns the volumes by name. If some cannot be set up, it returns none, and says why of each.
func (m *Manager) SetUp(from envvars.Source) (all map[string]Volume, failures []string) {
	all = map[string]Volume{}
	for _, v := range volumesOf(from.Pod) {
		content, err := filesOf(from, v)
		if err != nil {
			failures = append(failures, mountFailure(from.Pod, v, err))
		}
		all[v.Name] = Volume{content, m.sharedOf(v)}
	}
	if failures != nil {
		return nil, failures
	}
	return all, nil
}

// mountFailure says as today that a volume cannot be set up.
func mountFailure(pod *corev1.Pod, v *corev1.Volume, err error) string {
	claim := v.PersistentVolumeClaim
	if claim == nil {
		return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", v.Name, err)
	}
	return fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=[%s], unattached volumes=[], failed to process volumes=[%s]: "+
		"error processing PVC %s/%s: failed to fetch PVC from API server: %v", v.Name, v.Name, pod.Namespace, claim.ClaimName, err)
}

// sharedOf returns the volume that containers write to, nil for one that is only read. It stays as long as the pod: that
// of a claim or of the machine, too.
func (m *Manager) sharedOf(v *corev1.Volume) *cri.Volume {
	if v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil {
		return nil
	}
	if m.shared == nil {
		m.shared = map[string]*cri.Volume{}
	}
	if m.shared[v.Name] == nil {
		m.shared[v.Name] = &cri.Volume{}
	}
	return m.shared[v.Name]
}

// filesOf returns the files of a volume that is only read.
func filesOf(from envvars.Source, v *corev1.Volume) (files, error) {
	switch {
	case v.ConfigMap != nil:
		return keysOf(from, objects.ConfigMap, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return keysOf(from, objects.Secret, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return fieldsOf(from, v.DownwardAPI.Items)
	case v.Projected != nil:
		return projected(from, v.Projected.Sources)
	case v.PersistentVolumeClaim != nil:
		if o := from.Object(objects.Claim, v.PersistentVolumeClaim.ClaimName); !o.Had {
			return nil, o.Err
		}
	}
	return nil, nil
}

// projected returns the files of several sources in one volume. There are no tokens.
func projected(from envvars.Source, sources []corev1.VolumeProjection) (files, error) {
	all := files{}
	var failures []error
	for _, source := range sources {
		var some files
		var err error
		switch {
		case source.ConfigMap != nil:
			some, err = keysOf(from, objects.ConfigMap, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.Secret != nil:
			some, err = keysOf(from, objects.Secret, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.DownwardAPI != nil:
			some, err = fieldsOf(from, source.DownwardAPI.Items)
		}
		if err != nil {
			failures = append(failures, err)
		}
		maps.Copy(all, some)
	}
	return all, utilerrors.NewAggregate(failures)
}

// keysOf returns the values of a config map or a secret as files: all, or those of items.
func keysOf(from envvars.Source, kind, name string, items []corev1.KeyToPath, optional *bool) (files, error) {
	o := from.Object(kind, name)
	if o.Err != nil && !o.Had {
		return nil, objects.Unless(optional, o.Err)
	}
	all := files{}
	maps.Copy(all, o.Data)
	maps.Copy(all, o.Binary)
	if len(items) == 0 {
		return all, nil
	}
	chosen := files{}
	for _, item := range items {
		content, exists := all[item.Key]
		switch {
		case exists:
			chosen[path.Clean(item.Path)] = content
		case optional != nil && *optional:
		case kind == objects.ConfigMap:
			return nil, fmt.Errorf("configmap references non-existent config key: %s", item.Key)
		default:
			return nil, fmt.Errorf("references non-existent secret key: %s", item.Key)
		}
	}
	return chosen, nil
}

// fieldsOf returns fields of the pod as files.
func fieldsOf(from envvars.Source, items []corev1.DownwardAPIVolumeFile) (files, error) {
	all := files{}
	var failures []error
	for _, item := range items {
		var text string
		var err error
		switch {
		case item.FieldRef != nil:
			text, err = from.Field(item.FieldRef)
		case item.ResourceFieldRef != nil:
			text, err = from.Resource(item.ResourceFieldRef, nil)
		}
		if err != nil {
			failures = append(failures, err)
		}
		all[path.Clean(item.Path)] = []byte(text)
	}
	return all, utilerrors.NewAggregate(failures)
}
