package v1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
)

// The volume with the token of a pod, which the server adds, is not in the manifest: June 2014 sees the pod as its author
// has written it. The remainder has the volume and its mounts, each as the last one of its list.

// AccessPrefix is the beginning of the name of the volume with the token of a pod.
const AccessPrefix = "kube-api-access-"

// accessIn returns the name of that volume of a pod, "" for none. As it is put back at the end, it must be the last one
// now, also in the containers that mount it.
func accessIn(spec *corev1.PodSpec) string {
	last := len(spec.Volumes) - 1
	if last < 0 || !strings.HasPrefix(spec.Volumes[last].Name, AccessPrefix) || spec.Volumes[last].Projected == nil {
		return ""
	}
	name := spec.Volumes[last].Name
	for _, container := range spec.Containers {
		if i := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name }); i >= 0 && i != len(container.VolumeMounts)-1 {
			return ""
		}
	}
	return name
}

// cutAccess returns a spec without the volume and its mounts, and what is put back into the rest of it.
func cutAccess(spec corev1.PodSpec) (corev1.PodSpec, func(rest *corev1.PodSpec)) {
	name := accessIn(&spec)
	if name == "" {
		return spec, func(*corev1.PodSpec) {}
	}
	volume, mounts := spec.Volumes[len(spec.Volumes)-1], make([][]corev1.VolumeMount, len(spec.Containers))
	spec.Volumes, spec.Containers = withoutLast(spec.Volumes), slices.Clone(spec.Containers)
	for i := range spec.Containers {
		all := &spec.Containers[i].VolumeMounts
		if n := len(*all) - 1; n >= 0 && (*all)[n].Name == name {
			mounts[i], *all = (*all)[n:], withoutLast(*all)
		}
	}
	return spec, func(rest *corev1.PodSpec) {
		rest.Volumes = append(rest.Volumes, volume)
		for i := range rest.Containers {
			rest.Containers[i].VolumeMounts = append(rest.Containers[i].VolumeMounts, mounts[i]...)
		}
	}
}

// withoutLast returns a list without the last item, nil for no other. What is appended to it does not overwrite that.
func withoutLast[T any](list []T) []T {
	if len(list) == 1 {
		return nil
	}
	return slices.Clip(list[:len(list)-1])
}

// withAccess returns volumes with that of the rest, if it is not in the manifest.
func withAccess(volumes []corev1.Volume, shown []api.Volume, rest []corev1.Volume) []corev1.Volume {
	if n := len(rest) - 1; n >= 0 && strings.HasPrefix(rest[n].Name, AccessPrefix) && !slices.Contains(shown, inVolume(rest[n])) {
		return append(volumes, rest[n])
	}
	return volumes
}

// withAccessMount does the same for the mounts of a container.
func withAccessMount(mounts []corev1.VolumeMount, shown []api.VolumeMount, rest []corev1.VolumeMount) []corev1.VolumeMount {
	if n := len(rest) - 1; n >= 0 && strings.HasPrefix(rest[n].Name, AccessPrefix) && !slices.Contains(shown, inVolumeMount(rest[n])) {
		return append(mounts, rest[n])
	}
	return mounts
}
