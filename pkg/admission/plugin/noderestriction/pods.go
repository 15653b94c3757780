package noderestriction

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
)

// checkPod lets a node create and delete mirror pods, tell the status of its pods, and evict them.
func (p *plugin) checkPod(_ context.Context, c change) error {
	switch c.Subresource {
	case "":
		switch c.Operation {
		case admission.Create:
			return p.checkMirror(c)
		case admission.Delete:
			if pod, isPod := c.OldObject.(*corev1.Pod); !isPod || pod.Spec.NodeName != c.node {
				return c.refuse("node %q can only delete pods with spec.nodeName set to itself", c.node)
			}
			return nil
		}
		return c.refuse("unexpected operation %q, node %q can only create and delete mirror pods", c.Operation, c.node)
	case "status":
		return checkStatus(c)
	case "eviction":
		return p.checkEviction(c)
	}
	return c.refuse("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", c.Subresource)
}

func (p *plugin) checkMirror(c change) error {
	pod, isPod := c.Object.(*corev1.Pod)
	if !isPod {
		return c.refuse("the object is no Pod")
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !isMirror {
		return c.refuse("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, c.node)
	}
	if pod.Spec.NodeName != c.node {
		return c.refuse("node %q can only create pods with spec.nodeName set to itself", c.node)
	}
	if err := p.checkOwner(c, pod); err != nil {
		return err
	}
	switch kind, err := reference(pod); {
	case err != nil:
		return c.refuse("error checking mirror pod for API references: %w", err)
	case kind != "":
		return c.refuse("node %q can not create pods that reference %s", c.node, kind)
	}
	return nil
}

// checkOwner requires that the node owns a mirror pod.
func (p *plugin) checkOwner(c change, pod *corev1.Pod) error {
	if len(pod.OwnerReferences) > 1 {
		return c.refuse("node %q can only create pods with a single owner reference set to itself", c.node)
	}
	if len(pod.OwnerReferences) == 0 {
		return c.refuse("node %q can only create pods with an owner reference set to itself", c.node)
	}
	switch owner := pod.OwnerReferences[0]; {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != c.node:
		return c.refuse("node %q can only create pods with an owner reference set to itself", c.node)
	case owner.Controller == nil || !*owner.Controller:
		return c.refuse("node %q can only create pods with a controller owner reference set to itself", c.node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return c.refuse("node %q must not set blockOwnerDeletion on an owner reference", c.node)
	default:
		node, err := p.nodes.Get("", c.node)
		switch {
		case err != nil:
			return err
		case node == nil:
			return apierrors.NewNotFound(corev1.Resource("node"), c.node)
		case owner.UID != node.UID:
			return c.refuse("node %s UID mismatch: expected %s got %s", c.node, owner.UID, node.UID)
		}
		return nil
	}
}

func checkStatus(c change) error {
	if c.Operation != admission.Update {
		return c.unexpected()
	}
	old, wasPod := c.OldObject.(*corev1.Pod)
	if !wasPod || old.Spec.NodeName != c.node {
		return c.refuse("node %q can only update pod status for pods with spec.nodeName set to itself", c.node)
	}
	now, isPod := c.Object.(*corev1.Pod)
	switch {
	case !isPod:
		return c.refuse("the object is no Pod")
	case !maps.Equal(old.Labels, now.Labels):
		return c.refuse("node %q cannot update labels through pod status", c.node)
	case !slices.EqualFunc(old.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses, isSame):
		return c.refuse("node %q cannot update resource claim statues", c.node) // as today's server spells it
	case !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus):
		return c.refuse("node %q cannot update extended resource claim status", c.node)
	}
	return nil
}

func isSame(a, b corev1.PodResourceClaimStatus) bool { return equality.Semantic.DeepEqual(a, b) }

func (p *plugin) checkEviction(c change) error {
	if c.Operation != admission.Create {
		return c.refuse("unexpected operation %s", c.Operation)
	}
	pod, err := p.podNamed(c, c.Name)
	switch {
	case err != nil:
		return err
	case pod.Spec.NodeName != c.node:
		return c.refuse("node %s can only evict pods with spec.nodeName set to itself", c.node)
	}
	return nil
}

// podNamed returns a pod in the namespace of a change, or the NotFound status.
func (p *plugin) podNamed(c change, name string) (*corev1.Pod, error) {
	pod, err := p.pods.Get(c.Namespace, name)
	if err == nil && pod == nil {
		err = apierrors.NewNotFound(corev1.Resource("pod"), name)
	}
	return pod, err
}

// checkClaim lets a node tell the size of a volume, and conditions.
func (*plugin) checkClaim(_ context.Context, c change) error {
	if c.Subresource != "status" {
		return c.refuse("may only update PVC status")
	}
	if c.Operation != admission.Update {
		return c.unexpected()
	}
	old, wasClaim := c.OldObject.(*corev1.PersistentVolumeClaim)
	now, isClaim := c.Object.(*corev1.PersistentVolumeClaim)
	if !wasClaim || !isClaim {
		return admission.Forbidden(c.Attributes, errors.New("the object is no PersistentVolumeClaim"))
	}
	if !equality.Semantic.DeepEqual(withoutOwn(old), withoutOwn(now)) {
		return c.refuse("node %q is not allowed to update fields other than status.quantity and status.conditions", c.node)
	}
	return nil
}

// withoutOwn returns a claim without what a node may change.
func withoutOwn(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	rest := claim.DeepCopy()
	rest.ResourceVersion, rest.ManagedFields = "", nil
	rest.Status.Capacity, rest.Status.Conditions, rest.Status.AllocatedResources, rest.Status.AllocatedResourceStatuses = nil, nil, nil, nil
	return rest
}
