package serviceaccount

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	v1 "kube2014/pkg/api/v1"
)

const (
	mountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// lasts is how long a token is good, in seconds. Today's server knows the tokens of pods by this odd number.
	lasts = 3607
)

// mountToken mounts the volume of the token into each container that has nothing at its path.
func mountToken(spec *corev1.PodSpec) {
	isOurs := func(volume corev1.Volume) bool { return strings.HasPrefix(volume.Name, v1.AccessPrefix) }
	i := slices.IndexFunc(spec.Volumes, isOurs)
	mount := corev1.VolumeMount{ReadOnly: true, MountPath: mountPath}
	if i >= 0 {
		mount.Name = spec.Volumes[i].Name
	} else {
		mount.Name = v1.AccessPrefix + utilrand.String(5)
	}
	needed := false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for c := range containers {
			if !slices.ContainsFunc(containers[c].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mountPath }) {
				containers[c].VolumeMounts = append(containers[c].VolumeMounts, mount)
				needed = true
			}
		}
	}
	if needed && i < 0 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: corev1.VolumeSource{Projected: access()}})
	}
}

// access returns what a pod needs to use the server: a token, the certificate of the server, and the namespace.
func access() *corev1.ProjectedVolumeSource {
	const certificate = "ca.crt"
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(lasts))}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items: []corev1.KeyToPath{{Key: certificate, Path: certificate}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}
}
