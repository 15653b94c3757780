package plugin

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/admission"
)

type alwaysPullImages struct{ changes }

// NewAlwaysPullImages makes a plugin that lets machines pull all images of a pod each time, so that
// nobody uses a private image because somebody else has pulled it. It is an admission.Factory.
func NewAlwaysPullImages(configuration json.RawMessage) (admission.Interface, error) {
	return withoutConfiguration(alwaysPullImages{}, configuration)
}

// Admit implements admission.MutationInterface.
func (alwaysPullImages) Admit(_ context.Context, a *admission.Attributes) error {
	for _, used := range imagesToPull(a) {
		*used.policy = corev1.PullAlways
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (alwaysPullImages) Validate(_ context.Context, a *admission.Attributes) error {
	var errs []error
	for _, used := range imagesToPull(a) {
		if *used.policy != corev1.PullAlways {
			errs = append(errs, field.NotSupported(used.path, *used.policy, []corev1.PullPolicy{corev1.PullAlways}))
		}
	}
	if len(errs) > 0 {
		return admission.Forbidden(a, utilerrors.NewAggregate(errs))
	}
	return nil
}

// usedImage is an image that a pod uses, and when it is pulled.
type usedImage struct {
	user   string // the name of the container or the volume
	name   string
	policy *corev1.PullPolicy
	path   *field.Path // of the policy
}

// imagesToPull returns the images of a pod, none if an update brings no new one. An image is new, too,
// to a container that has come with the update, as the first door lets it.
func imagesToPull(a *admission.Attributes) []usedImage {
	pod := podIn(a)
	if pod == nil {
		return nil
	}
	images := imagesOf(pod)
	if old, ok := a.OldObject.(*corev1.Pod); ok && a.Operation == admission.Update {
		type use struct{ user, name string }
		known := map[use]int{} // a name may be there twice in a task of 2014
		for _, used := range imagesOf(old) {
			known[use{used.user, used.name}]++
		}
		for _, used := range images {
			if known[use{used.user, used.name}]--; known[use{used.user, used.name}] < 0 {
				return images
			}
		}
		return nil
	}
	return images
}

func imagesOf(pod *corev1.Pod) (images []usedImage) {
	spec := field.NewPath("spec")
	add := func(c *corev1.Container, at *field.Path) {
		images = append(images, usedImage{c.Name, c.Image, &c.ImagePullPolicy, at.Child("imagePullPolicy")})
	}
	for i := range pod.Spec.InitContainers {
		add(&pod.Spec.InitContainers[i], spec.Child("initContainers").Index(i))
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i], spec.Child("containers").Index(i))
	}
	for i := range pod.Spec.EphemeralContainers {
		add((*corev1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon), spec.Child("ephemeralContainers").Index(i))
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			images = append(images, usedImage{pod.Spec.Volumes[i].Name, image.Reference, &image.PullPolicy, spec.Child("volumes").Index(i).Child("image", "pullPolicy")})
		}
	}
	return images
}
