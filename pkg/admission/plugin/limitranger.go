package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube2014/pkg/admission"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// limitRanger limits the resources of containers and pods, and the storage of claims, by the limit ranges of their
// namespace. As in today's server, an update of a pod is limited only if it changes its resources, which only the first
// door allows.
type limitRanger struct {
	admission.Operations
	limits *Objects[*corev1.LimitRange]
}

var (
	_ WantsObjects              = (*limitRanger)(nil)
	_ admission.SkipsNamespaces = (*limitRanger)(nil)
)

// NewLimitRanger creates the plugin. It is an admission.Factory.
func NewLimitRanger(configuration json.RawMessage) (admission.Interface, error) {
	return &limitRanger{Operations: admission.Writes}, CheckNoConfiguration(configuration, "LimitRange")
}

// SetObjects implements WantsObjects.
func (l *limitRanger) SetObjects(_, untraced storage.Interface, _ rest.Catalogs) {
	l.limits = NewObjects[*corev1.LimitRange](untraced, quota.LimitsKind, corev1.SchemeGroupVersion.WithKind("LimitRange"))
}

// Idle implements admission.SkipsNamespaces.
func (l *limitRanger) Idle(namespace string) bool { return l.limits.None(namespace) }

const limitedAnnotation = "kubernetes.io/limit-ranger"

// Admit implements admission.MutationInterface. It sets missing requests and limits.
func (l *limitRanger) Admit(_ context.Context, a *admission.Attributes) error {
	pod := limited(a)
	if pod == nil {
		return nil
	}
	all, err := l.limits.In(a.Namespace)
	if err != nil {
		return err
	}
	for _, one := range all {
		var set []string
		requests, limits := defaultsIn(one.Spec.Limits)
		for i := range pod.Spec.Containers {
			set = append(set, setMissing(&pod.Spec.Containers[i], "container", requests, limits)...)
		}
		for i := range pod.Spec.InitContainers {
			set = append(set, setMissing(&pod.Spec.InitContainers[i], "init container", requests, limits)...)
		}
		if len(set) == 0 {
			continue
		}
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[limitedAnnotation] = "LimitRanger plugin set: " + strings.Join(set, "; ")
	}
	return nil
}

// limited returns the pod of a change that must be limited, nil if there is none.
func limited(a *admission.Attributes) *corev1.Pod {
	pod := PodIn(a)
	if a.Subresource == Resize {
		pod, _ = a.Object.(*corev1.Pod)
	}
	if old, ok := a.OldObject.(*corev1.Pod); pod == nil || ok && (old.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(resourcesOf(pod), resourcesOf(old))) {
		return nil
	}
	return pod
}

// claimIn returns the claim of storage of a change that must be limited, nil if there is none.
func claimIn(a *admission.Attributes) *corev1.PersistentVolumeClaim {
	claim, isClaim := a.Object.(*corev1.PersistentVolumeClaim)
	if !isClaim || a.Subresource != "" || a.OldObject != nil && a.OldObject.GetDeletionTimestamp() != nil {
		return nil
	}
	return claim
}

// defaultsIn returns the default requests and limits of containers.
func defaultsIn(items []corev1.LimitRangeItem) (requests, limits corev1.ResourceList) {
	requests, limits = corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range items {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(limits, item.Default)
		}
	}
	return requests, limits
}

// setMissing sets the missing requests and limits of a container, and describes them.
func setMissing(c *corev1.Container, kind string, requests, limits corev1.ResourceList) (set []string) {
	for _, one := range []struct {
		what     string
		list     *corev1.ResourceList
		defaults corev1.ResourceList
	}{{"request", &c.Resources.Requests, requests}, {"limit", &c.Resources.Limits, limits}} {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(one.defaults)) {
			if _, there := (*one.list)[name]; there {
				continue
			}
			if *one.list == nil {
				*one.list = corev1.ResourceList{}
			}
			(*one.list)[name] = one.defaults[name].DeepCopy()
			names = append(names, string(name))
		}
		if len(names) > 0 {
			set = append(set, fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), one.what, kind, c.Name))
		}
	}
	return set
}

// Validate implements admission.ValidationInterface.
func (l *limitRanger) Validate(_ context.Context, a *admission.Attributes) error {
	pod, claim := limited(a), claimIn(a)
	if pod == nil && claim == nil {
		return nil
	}
	all, err := l.limits.In(a.Namespace)
	if err != nil {
		return err
	}
	for _, one := range all {
		var errs []error
		if pod != nil {
			errs = checkLimits(pod, one.Spec.Limits)
		} else {
			errs = checkClaim(claim, one.Spec.Limits)
		}
		if len(errs) > 0 {
			return admission.Forbidden(a, utilerrors.NewAggregate(errs))
		}
	}
	return nil
}

// resourcesOf returns the requests and limits of a pod and of each of its containers.
func resourcesOf(pod *corev1.Pod) (all [][]corev1.ResourceRequirements) {
	whole := []corev1.ResourceRequirements{{}}
	if pod.Spec.Resources != nil {
		whole[0] = *pod.Spec.Resources
	}
	all = append(all, whole)
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		var list []corev1.ResourceRequirements
		for i := range containers {
			list = append(list, containers[i].Resources)
		}
		all = append(all, list)
	}
	return all
}
