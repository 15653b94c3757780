package noderestriction

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/util/pods"
)

// checkToken lets a node get tokens of service accounts that are bound to its pods, for audiences that these ask for.
func (p *plugin) checkToken(ctx context.Context, c change) error {
	if c.Operation != admission.Create || c.Subresource != "token" {
		return nil
	}
	request, isRequest := c.Object.(*authenticationv1.TokenRequest)
	if !isRequest {
		return c.refuse("the object is no TokenRequest")
	}
	to := request.Spec.BoundObjectRef
	switch {
	case to == nil || to.APIVersion != "v1" || to.Kind != "Pod" || to.Name == "":
		return c.refuse("node requested token not bound to a pod")
	case to.UID == "":
		return c.refuse("node requested token with a pod binding without a uid")
	}
	pod, err := p.podNamed(c, to.Name)
	switch {
	case err != nil:
		return err
	case pod.UID != to.UID:
		return c.refuse("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", to.UID)
	case pod.Spec.NodeName != c.node:
		return c.refuse("node requested token bound to a pod scheduled on a different node")
	case len(request.Spec.Audiences) > 1:
		return c.refuse("node may only request 0 or 1 audiences")
	}
	audience := ""
	if len(request.Spec.Audiences) == 1 {
		audience = request.Spec.Audiences[0]
	}
	return p.checkAudience(ctx, c, pod, audience)
}

// checkAudience refuses an audience, "" for the default, that no volume of the pod asks for, unless the node may get tokens for it all the same.
func (p *plugin) checkAudience(ctx context.Context, c change, pod *corev1.Pod, audience string) error {
	asked, err := p.asks(pod, audience)
	switch {
	case asked:
		return nil
	case err != nil:
		return c.refuse("error validating audience %q: %w", audience, err)
	}
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.Attributes{User: c.User, Verb: "request-serviceaccounts-token-audience", IsResource: true,
		Namespace: c.Namespace, APIVersion: "v1", Resource: audience, Name: c.Name})
	switch {
	case decision == authorizer.Allow:
		return nil
	case err != nil:
		return c.refuse("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, c.User.Name, err)
	}
	return c.refuse("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, c.User.Name)
}

// asks reports whether a volume of a pod, or the driver of one, asks for tokens for an audience. The error names what is missing to know.
func (p *plugin) asks(pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(source corev1.VolumeProjection) bool {
			return source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := p.driverOf(pod, v)
		if err == nil && driver != nil && slices.ContainsFunc(driver.Spec.TokenRequests, func(request storagev1.TokenRequest) bool { return request.Audience == audience }) {
			return true, nil
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the driver of a volume of a pod, nil for none.
func (p *plugin) driverOf(pod *corev1.Pod, v *corev1.Volume) (*storagev1.CSIDriver, error) {
	name := ""
	if v.CSI != nil {
		name = v.CSI.Driver
	} else if claimName := pods.ClaimName(pod, v); claimName != "" {
		claim, err := need(p.claims, pod.Namespace, claimName, notFound("persistentvolumeclaim", claimName))
		if err != nil {
			return nil, err
		}
		volume, err := need(p.volumes, "", claim.Spec.VolumeName, notFound("persistentvolume", claim.Spec.VolumeName))
		if err != nil {
			return nil, err
		}
		if volume.Spec.CSI != nil {
			name = volume.Spec.CSI.Driver
		}
	}
	if name == "" {
		return nil, nil
	}
	return need(p.drivers, "", name, notFound("csidriver.storage.k8s.io", name))
}

func notFound(kind, name string) error { return fmt.Errorf("%s %q not found", kind, name) }
