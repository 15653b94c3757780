package serviceaccount

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/podspec"
)

// checkMirror returns why a mirror pod is refused. Its kubelet knows neither accounts nor secrets.
func checkMirror(spec *corev1.PodSpec) error {
	switch {
	case spec.ServiceAccountName != "":
		return errors.New("a mirror pod may not reference service accounts")
	case namesSecrets(spec):
		return errors.New("a mirror pod may not reference secrets")
	}
	for _, volume := range spec.Volumes {
		if volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool { return source.ServiceAccountToken != nil }) {
			return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
		}
	}
	return nil
}

// checkSecrets returns why a pod is refused that uses another secret than those that its account names.
func checkSecrets(spec *corev1.PodSpec, account *corev1.ServiceAccount) error {
	mayMount := func(name string) bool {
		return slices.ContainsFunc(account.Secrets, func(secret corev1.ObjectReference) bool { return secret.Name == name })
	}
	for _, volume := range spec.Volumes {
		if volume.Secret != nil && !mayMount(volume.Secret.SecretName) {
			return fmt.Errorf("volume with secret.secretName=%q is not allowed because service account %s does not reference that secret", volume.Secret.SecretName, account.Name)
		}
	}
	for _, group := range []struct {
		word       string
		containers []corev1.Container
	}{{"init container", spec.InitContainers}, {"container", spec.Containers}} {
		for _, container := range group.containers {
			var where, name string
			eachSecret(container, func(variable, secret string) bool {
				if mayMount(secret) {
					return true
				}
				where, name = "envFrom", secret
				if variable != "" {
					where = "envVar " + variable
				}
				return false
			})
			if where != "" {
				return fmt.Errorf("%s %s with %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", group.word, container.Name, where, name, account.Name)
			}
		}
	}
	for i, secret := range spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, secret) {
			return fmt.Errorf("imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret", i, secret.Name, account.Name)
		}
	}
	return nil
}

// eachSecret calls a function with the secrets in the environment of a container until it returns false: first with
// those of one variable, then with those of many, whose variable is "".
func eachSecret(container corev1.Container, do func(variable, secret string) bool) {
	for _, env := range container.Env {
		if from := env.ValueFrom; from != nil && from.SecretKeyRef != nil && !do(env.Name, from.SecretKeyRef.Name) {
			return
		}
	}
	for _, from := range container.EnvFrom {
		if from.SecretRef != nil && !do("", from.SecretRef.Name) {
			return
		}
	}
}

// namesSecrets reports whether a pod uses secrets.
func namesSecrets(spec *corev1.PodSpec) (found bool) {
	note := func(name string) { found = found || name != "" }
	ref := func(secret *corev1.LocalObjectReference) {
		if secret != nil {
			note(secret.Name)
		}
	}
	for _, secret := range spec.ImagePullSecrets {
		note(secret.Name)
	}
	podspec.EachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		eachSecret(*container, func(_, secret string) bool {
			note(secret)
			return !found
		})
	})
	for _, volume := range spec.Volumes {
		switch {
		case volume.Secret != nil:
			note(volume.Secret.SecretName)
		case volume.AzureFile != nil:
			note(volume.AzureFile.SecretName)
		case volume.CephFS != nil:
			ref(volume.CephFS.SecretRef)
		case volume.Cinder != nil:
			ref(volume.Cinder.SecretRef)
		case volume.FlexVolume != nil:
			ref(volume.FlexVolume.SecretRef)
		case volume.RBD != nil:
			ref(volume.RBD.SecretRef)
		case volume.ScaleIO != nil:
			ref(volume.ScaleIO.SecretRef)
		case volume.ISCSI != nil:
			ref(volume.ISCSI.SecretRef)
		case volume.StorageOS != nil:
			ref(volume.StorageOS.SecretRef)
		case volume.CSI != nil:
			ref(volume.CSI.NodePublishSecretRef)
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil {
					note(source.Secret.Name)
				}
			}
		}
	}
	return found
}
