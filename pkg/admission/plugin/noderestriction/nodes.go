package noderestriction

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/admission"
)

// checkNode lets a node write itself, but nothing by which it would draw pods that are not for it.
func (*plugin) checkNode(_ context.Context, c change) error {
	if c.Name != c.node {
		return c.refuse("node %q is not allowed to modify node %q", c.node, c.Name)
	}
	if c.Operation == admission.Delete {
		return nil
	}
	now, isNode := c.Object.(*corev1.Node)
	if !isNode {
		return c.refuse("the object is no Node")
	}
	if c.Operation == admission.Create {
		if now.Spec.ConfigSource != nil {
			return c.refuse("node %q is not allowed to create pods with a non-nil configSource", c.node)
		}
		if labels := forbidden(now.Labels, nil); len(labels) > 0 {
			return c.refuse("node %q is not allowed to set the following labels: %s", c.node, strings.Join(labels, ", "))
		}
		return nil
	}
	old := c.OldObject.(*corev1.Node)
	switch {
	case now.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(now.Spec.ConfigSource, old.Spec.ConfigSource):
		return c.refuse("node %q is not allowed to update configSource to a new non-nil configSource", c.node)
	case !equality.Semantic.DeepEqual(now.Spec.Taints, old.Spec.Taints):
		return c.refuse("node %q is not allowed to modify taints", c.node)
	case !equality.Semantic.DeepEqual(now.OwnerReferences, old.OwnerReferences):
		return c.refuse("node %q is not allowed to modify ownerReferences", c.node)
	}
	if labels := forbidden(now.Labels, old.Labels); len(labels) > 0 {
		return c.refuse("is not allowed to modify labels: %s", strings.Join(labels, ", "))
	}
	return nil
}

// forbidden returns the keys of the labels that differ and that a node must not set, sorted.
func forbidden(now, old map[string]string) (keys []string) {
	note := func(labels, others map[string]string) {
		for key, value := range labels {
			if other, has := others[key]; (!has || other != value) && !slices.Contains(keys, key) && isForbidden(key) {
				keys = append(keys, key)
			}
		}
	}
	note(now, old)
	note(old, now)
	slices.Sort(keys)
	return keys
}

// ownLabels are the labels of Kubernetes that a kubelet sets.
var ownLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// isForbidden reports whether a label is one of Kubernetes that no kubelet sets.
func isForbidden(key string) bool {
	prefix, _, hasPrefix := strings.Cut(key, "/")
	in := func(domain string) bool {
		return hasPrefix && (prefix == domain || strings.HasSuffix(prefix, "."+domain))
	}
	switch {
	case in(corev1.LabelNamespaceNodeRestriction):
		return true
	case !in("kubernetes.io") && !in("k8s.io"):
		return false
	}
	return !slices.Contains(ownLabels, key) && !in(corev1.LabelNamespaceSuffixKubelet) && !in(corev1.LabelNamespaceSuffixNode)
}
