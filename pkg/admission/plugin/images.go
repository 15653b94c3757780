package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/admission"
	"kube2014/pkg/api/v1/validation/podspec"
)

type alwaysPullImages struct{ admission.Operations }

// NewAlwaysPullImages creates a plugin that sets the pull policy Always, so that a pod cannot use a
// private image that was pulled for another user.
var NewAlwaysPullImages = WithoutConfiguration(func() admission.Interface { return alwaysPullImages{admission.Writes} })

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

// usedImage is an image of a pod, with its pull policy.
type usedImage struct {
	user   string // the name of the container or the volume
	name   string
	policy *corev1.PullPolicy
	path   *field.Path // of the policy
}

// imagesToPull returns the images of a pod, none for an update without a new one. The image of a new
// container, which the first door allows, is new too.
func imagesToPull(a *admission.Attributes) []usedImage {
	pod := PodIn(a)
	if pod == nil {
		return nil
	}
	images := imagesOf(pod)
	if old, ok := a.OldObject.(*corev1.Pod); ok && a.Operation == admission.Update {
		type use struct{ user, name string }
		known := map[use]int{} // a task of 2014 may have a name twice
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
	podspec.EachContainer(&pod.Spec, spec, func(c *corev1.Container, at *field.Path) {
		images = append(images, usedImage{c.Name, c.Image, &c.ImagePullPolicy, at.Child("imagePullPolicy")})
	})
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			images = append(images, usedImage{pod.Spec.Volumes[i].Name, image.Reference, &image.PullPolicy, spec.Child("volumes").Index(i).Child("image", "pullPolicy")})
		}
	}
	return images
}
