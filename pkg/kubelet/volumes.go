package kubelet

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube2014/pkg/kubelet/cri"
)

// maxFiles is how many files a container may have from volumes.
const maxFiles = 10000

// accessPrefix begins the name of the volume with a token that the server gives each pod. It is left
// empty: else each start of a pod would cost two requests.
const accessPrefix = "kube-api-access-"

// files is what is in a volume, by the path in it. The contents are shared: nobody may change them.
type files map[string][]byte

// volume is a volume that is set up.
type volume struct {
	files  files       // of one that is only read
	shared *cri.Volume // one that containers write to
}

// volumesOf returns the volumes of a pod that a container mounts. Others are not set up.
func volumesOf(pod *corev1.Pod) (used []*corev1.Volume) {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	mounted := map[string]bool{}
	for _, c := range containersOf(pod) {
		for _, mount := range c.spec.VolumeMounts {
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

// referVolumes calls add with each object that the volumes of a pod need.
func referVolumes(pod *corev1.Pod, add func(kind, name string)) {
	for _, v := range volumesOf(pod) {
		switch {
		case v.ConfigMap != nil:
			add(aConfigMap, v.ConfigMap.Name)
		case v.Secret != nil:
			add(aSecret, v.Secret.SecretName)
		case v.PersistentVolumeClaim != nil:
			add(aClaim, v.PersistentVolumeClaim.ClaimName)
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				if source.ConfigMap != nil {
					add(aConfigMap, source.ConfigMap.Name)
				} else if source.Secret != nil {
					add(aSecret, source.Secret.Name)
				}
			}
		}
	}
}

// setUpVolumes returns the volumes by name. If one cannot be set up, an event says why, and the
// pod is not ready for any container: the result is nil.
func (w *podWorker) setUpVolumes() (all map[string]volume, succeeded bool) {
	all, succeeded = map[string]volume{}, true
	for _, v := range volumesOf(w.pod) {
		content, err := w.filesOf(v)
		if err != nil {
			w.k.event(w.pod, corev1.EventTypeWarning, "FailedMount", w.mountFailure(v, err))
			succeeded = false
		}
		all[v.Name] = volume{content, w.sharedOf(v)}
	}
	if !succeeded {
		return nil, false
	}
	return all, true
}

// mountFailure says as today that a volume cannot be set up.
func (w *podWorker) mountFailure(v *corev1.Volume, err error) string {
	claim := v.PersistentVolumeClaim
	if claim == nil {
		return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", v.Name, err)
	}
	return fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=[%s], unattached volumes=[], failed to process volumes=[%s]: "+
		"error processing PVC %s/%s: failed to fetch PVC from API server: %v", v.Name, v.Name, w.pod.Namespace, claim.ClaimName, err)
}

// sharedOf returns the volume that containers write to, nil for one that is only read. It stays as long as the pod: that
// of a claim or of the machine, too.
func (w *podWorker) sharedOf(v *corev1.Volume) *cri.Volume {
	if v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil {
		return nil
	}
	if w.shared == nil {
		w.shared = map[string]*cri.Volume{}
	}
	if w.shared[v.Name] == nil {
		w.shared[v.Name] = &cri.Volume{}
	}
	return w.shared[v.Name]
}

// filesOf returns the files of a volume that is only read.
func (w *podWorker) filesOf(v *corev1.Volume) (files, error) {
	switch {
	case v.ConfigMap != nil:
		return w.keysOf(aConfigMap, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return w.keysOf(aSecret, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return w.fieldsOf(v.DownwardAPI.Items)
	case v.Projected != nil:
		return w.projected(v.Projected.Sources)
	case v.PersistentVolumeClaim != nil:
		if o := w.object(aClaim, v.PersistentVolumeClaim.ClaimName); !o.had {
			return nil, o.err
		}
	}
	return nil, nil
}

// projected returns the files of several sources in one volume. There are no tokens.
func (w *podWorker) projected(sources []corev1.VolumeProjection) (files, error) {
	all := files{}
	var failures []error
	for _, source := range sources {
		var some files
		var err error
		switch {
		case source.ConfigMap != nil:
			some, err = w.keysOf(aConfigMap, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.Secret != nil:
			some, err = w.keysOf(aSecret, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.DownwardAPI != nil:
			some, err = w.fieldsOf(source.DownwardAPI.Items)
		}
		if err != nil {
			failures = append(failures, err)
		}
		maps.Copy(all, some)
	}
	return all, utilerrors.NewAggregate(failures)
}

// keysOf returns the values of a config map or a secret as files: all, or those of items.
func (w *podWorker) keysOf(kind, name string, items []corev1.KeyToPath, optional *bool) (files, error) {
	o := w.object(kind, name)
	if o.err != nil && !o.had {
		return nil, unless(optional, o.err)
	}
	all := files{}
	maps.Copy(all, o.data)
	maps.Copy(all, o.binary)
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
		case kind == aConfigMap:
			return nil, fmt.Errorf("configmap references non-existent config key: %s", item.Key)
		default:
			return nil, fmt.Errorf("references non-existent secret key: %s", item.Key)
		}
	}
	return chosen, nil
}

// fieldsOf returns fields of the pod as files.
func (w *podWorker) fieldsOf(items []corev1.DownwardAPIVolumeFile) (files, error) {
	all := files{}
	var failures []error
	for _, item := range items {
		var text string
		var err error
		switch {
		case item.FieldRef != nil:
			text, err = w.fieldOf(item.FieldRef)
		case item.ResourceFieldRef != nil:
			text, err = w.resourceOf(item.ResourceFieldRef, nil)
		}
		if err != nil {
			failures = append(failures, err)
		}
		all[path.Clean(item.Path)] = []byte(text)
	}
	return all, utilerrors.NewAggregate(failures)
}

// mount mounts the volumes of a container.
func mount(spec *cri.Spec, c *corev1.Container, volumes map[string]volume, e *environment) error {
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		sub, err := subPathOf(m, e)
		if err != nil {
			return err
		}
		at := path.Join("/", m.MountPath)
		if shared := volumes[m.Name].shared; shared != nil {
			if spec.Folders == nil {
				spec.Folders = map[string]cri.Folder{}
			}
			spec.Folders[at] = cri.Folder{Volume: shared, Path: sub, ReadOnly: m.ReadOnly}
		}
		for name, content := range volumes[m.Name].files {
			within, isSeen := below(name, sub)
			if !isSeen {
				continue
			}
			if spec.Files == nil {
				spec.Files = map[string][]byte{}
			}
			if spec.Files[path.Join(at, within)] = content; len(spec.Files) > maxFiles {
				return fmt.Errorf("the volumes have more than %d files", maxFiles)
			}
		}
	}
	return nil
}

// below returns the path of a file from a directory of its volume on. It is empty for the file itself.
func below(name, sub string) (within string, isBelow bool) {
	if sub == "" || name == sub {
		return strings.TrimPrefix(name, sub), true
	}
	return strings.CutPrefix(name, sub+"/")
}

// subPathOf returns which part of a volume is mounted, empty for all of it.
func subPathOf(m *corev1.VolumeMount, e *environment) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		var missing []string
		var err error
		sub, err = expand(m.SubPathExpr, maxEnvironment, func(name string) (string, bool) {
			value, _ := e.find(name)
			if value == "" {
				missing = append(missing, name)
			}
			return value, true
		})
		if len(missing) > 0 {
			slices.Sort(missing)
			err = fmt.Errorf("missing value for %s", strings.Join(slices.Compact(missing), ", "))
		}
		if err != nil {
			return "", err
		}
	}
	if sub = path.Clean(sub); sub == "." {
		sub = ""
	}
	return sub, nil
}
