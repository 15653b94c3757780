package noderestriction

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/admission"
	plugins "kube2014/pkg/admission/plugin"
	"kube2014/pkg/util/pods"
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
	if !pods.IsMirror(pod) {
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
	owner := metav1.OwnerReference{}
	if len(pod.OwnerReferences) == 1 {
		owner = pod.OwnerReferences[0]
	}
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != c.node:
		return c.refuse("node %q can only create pods with an owner reference set to itself", c.node)
	case owner.Controller == nil || !*owner.Controller:
		return c.refuse("node %q can only create pods with a controller owner reference set to itself", c.node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return c.refuse("node %q must not set blockOwnerDeletion on an owner reference", c.node)
	}
	node, err := need(p.nodes, "", c.node, apierrors.NewNotFound(corev1.Resource("node"), c.node))
	if err == nil && owner.UID != node.UID {
		err = c.refuse("node %s UID mismatch: expected %s got %s", c.node, owner.UID, node.UID)
	}
	return err
}

func checkStatus(c change) error {
	if c.Operation != admission.Update {
		return c.unexpected()
	}
	old, wasPod := c.OldObject.(*corev1.Pod)
	if !wasPod || old.Spec.NodeName != c.node {
		return c.refuse("node %q can only update pod status for pods with spec.nodeName set to itself", c.node)
	}
	now := c.Object.(*corev1.Pod)
	switch {
	case !maps.Equal(old.Labels, now.Labels):
		return c.refuse("node %q cannot update labels through pod status", c.node)
	case !equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses):
		return c.refuse("node %q cannot update resource claim statues", c.node) // as today's server spells it
	case !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus):
		return c.refuse("node %q cannot update extended resource claim status", c.node)
	}
	return nil
}

func (p *plugin) checkEviction(c change) error {
	if c.Operation != admission.Create {
		return c.refuse("unexpected operation %s", c.Operation)
	}
	pod, err := p.podNamed(c, c.Name)
	if err == nil && pod.Spec.NodeName != c.node {
		err = c.refuse("node %s can only evict pods with spec.nodeName set to itself", c.node)
	}
	return err
}

// podNamed returns a pod in the namespace of a change, or the NotFound status.
func (p *plugin) podNamed(c change, name string) (*corev1.Pod, error) {
	return need(p.pods, c.Namespace, name, apierrors.NewNotFound(corev1.Resource("pod"), name))
}

// need returns an object, or an error if there is none.
func need[T interface {
	comparable
	runtime.Object
}](of *plugins.Objects[T], namespace, name string, none error) (T, error) {
	object, err := of.Get(namespace, name)
	if err == nil && object == *new(T) {
		err = none
	}
	return object, err
}

// checkClaim lets a node tell the size of a volume, and conditions.
func (*plugin) checkClaim(_ context.Context, c change) error {
	if c.Subresource != "status" {
		return c.refuse("may only update PVC status")
	}
	if c.Operation != admission.Update {
		return c.unexpected()
	}
	if !equality.Semantic.DeepEqual(withoutOwn(c.OldObject), withoutOwn(c.Object)) {
		return c.refuse("node %q is not allowed to update fields other than status.quantity and status.conditions", c.node)
	}
	return nil
}

// withoutOwn returns a claim without what a node may change.
func withoutOwn(claim admission.Object) *corev1.PersistentVolumeClaim {
	rest := claim.DeepCopyObject().(*corev1.PersistentVolumeClaim)
	rest.ResourceVersion, rest.ManagedFields = "", nil
	rest.Status.Capacity, rest.Status.Conditions, rest.Status.AllocatedResources, rest.Status.AllocatedResourceStatuses = nil, nil, nil, nil
	return rest
}
