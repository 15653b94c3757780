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

// EachOfEnvironment calls functions with the name of each config map and secret that the environment of a container refers to.
func EachOfEnvironment(container *corev1.Container, configMap, secret func(name string)) {
	for i := range container.EnvFrom {
		from := &container.EnvFrom[i]
		if from.ConfigMapRef != nil {
			configMap(from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			secret(from.SecretRef.Name)
		}
	}
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from != nil && from.ConfigMapKeyRef != nil {
			configMap(from.ConfigMapKeyRef.Name)
		}
		if from != nil && from.SecretKeyRef != nil {
			secret(from.SecretKeyRef.Name)
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
	secrets, _ := references(spec)
	return secrets
}

// ConfigMaps returns the names of the config maps that a spec refers to, some more than once.
func ConfigMaps(spec *corev1.PodSpec) []string {
	_, configMaps := references(spec)
	return configMaps
}

func references(spec *corev1.PodSpec) (secrets, configMaps names) {
	for i := range spec.ImagePullSecrets {
		secrets.addRef(&spec.ImagePullSecrets[i])
	}
	for container := range Containers(spec) {
		EachOfEnvironment(container, configMaps.add, secrets.add)
	}
	for i := range spec.Volumes {
		switch source := &spec.Volumes[i].VolumeSource; {
		case source.ConfigMap != nil:
			configMaps.add(source.ConfigMap.Name)
		case source.Projected != nil:
			for _, projected := range source.Projected.Sources {
				if projected.ConfigMap != nil {
					configMaps.add(projected.ConfigMap.Name)
				}
				if projected.Secret != nil {
					secrets.add(projected.Secret.Name)
				}
			}
		default:
			secrets.addSecretOf(source)
		}
	}
	return secrets, configMaps
}

func (n *names) addSecretOf(source *corev1.VolumeSource) {
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
	}
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
