package serviceaccount

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// checkMirror returns why a mirror pod is refused. Its kubelet knows neither accounts nor secrets.
func checkMirror(spec *corev1.PodSpec) error {
	switch {
	case spec.ServiceAccountName != "":
		return errors.New("a mirror pod may not reference service accounts")
	case len(pods.Secrets(spec)) > 0:
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
			refused := func(where, name string) error {
				return fmt.Errorf("%s %s with %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", group.word, container.Name, where, name, account.Name)
			}
			for _, env := range container.Env {
				if from := env.ValueFrom; from != nil && from.SecretKeyRef != nil && !mayMount(from.SecretKeyRef.Name) {
					return refused("envVar "+env.Name, from.SecretKeyRef.Name)
				}
			}
			for _, from := range container.EnvFrom {
				if from.SecretRef != nil && !mayMount(from.SecretRef.Name) {
					return refused("envFrom", from.SecretRef.Name)
				}
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
