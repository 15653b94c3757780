package pods

import (
	"cmp"
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Containers yields all containers of a spec: first the init containers, last the ephemeral ones.
func Containers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
		for i := range spec.EphemeralContainers {
			if !yield((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

// names collects names that are not empty.
type names []string

func (n *names) add(name string) {
	if name != "" {
		*n = append(*n, name)
	}
}

func (n *names) addRef(secret *corev1.LocalObjectReference) {
	if secret != nil {
		n.add(secret.Name)
	}
}

// Secrets returns the names of the secrets that a spec refers to, some more than once.
func Secrets(spec *corev1.PodSpec) []string {
	var found names
	for i := range spec.ImagePullSecrets {
		found.addRef(&spec.ImagePullSecrets[i])
	}
	for container := range Containers(spec) {
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				found.add(from.SecretRef.Name)
			}
		}
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
				found.add(from.SecretKeyRef.Name)
			}
		}
	}
	for i := range spec.Volumes {
		found.addSecretsOf(&spec.Volumes[i].VolumeSource)
	}
	return found
}

func (n *names) addSecretsOf(source *corev1.VolumeSource) {
	switch {
	case source.Secret != nil:
		n.add(source.Secret.SecretName)
	case source.AzureFile != nil:
		n.add(source.AzureFile.SecretName)
	case source.CephFS != nil:
		n.addRef(source.CephFS.SecretRef)
	case source.Cinder != nil:
		n.addRef(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		n.addRef(source.FlexVolume.SecretRef)
	case source.RBD != nil:
		n.addRef(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		n.addRef(source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		n.addRef(source.ISCSI.SecretRef)
	case source.StorageOS != nil:
		n.addRef(source.StorageOS.SecretRef)
	case source.CSI != nil:
		n.addRef(source.CSI.NodePublishSecretRef)
	case source.Projected != nil:
		for _, projected := range source.Projected.Sources {
			if projected.Secret != nil {
				n.add(projected.Secret.Name)
			}
		}
	}
}

// ConfigMaps returns the names of the config maps that a spec refers to, some more than once.
func ConfigMaps(spec *corev1.PodSpec) []string {
	var found names
	for container := range Containers(spec) {
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				found.add(from.ConfigMapRef.Name)
			}
		}
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				found.add(from.ConfigMapKeyRef.Name)
			}
		}
	}
	for _, volume := range spec.Volumes {
		if volume.ConfigMap != nil {
			found.add(volume.ConfigMap.Name)
		} else if volume.Projected != nil {
			for _, projected := range volume.Projected.Sources {
				if projected.ConfigMap != nil {
					found.add(projected.ConfigMap.Name)
				}
			}
		}
	}
	return found
}

// ClaimName returns the name of the claim of a volume of a pod, "" for none. That of an ephemeral volume is made for the pod.
func ClaimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// ClassOf returns the name of the storage class of a claim, which an old annotation may have, "" for none.
func ClassOf(claim *corev1.PersistentVolumeClaim) string {
	if name, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named {
		return name
	}
	return *cmp.Or(claim.Spec.StorageClassName, new(""))
}
