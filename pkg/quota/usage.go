package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api/v1/defaults"
	podsutil "kube2014/pkg/util/pods"
)

// Usage returns what an object of a resource uses. A pod that has ended, or should have, uses no more than its place in
// the store.
func Usage(resource schema.GroupResource, object runtime.Object, now time.Time) corev1.ResourceList {
	usage := corev1.ResourceList{corev1.ResourceName(countPrefix + resource.String()): number(1)}
	if name := corev1.ResourceName(resource.Resource); resource.Group == "" && slices.Contains(counted, name) {
		usage[name] = number(1)
	}
	switch object := object.(type) {
	case *corev1.Pod:
		if podsutil.HasEnded(object) || isOverdue(object, now) {
			delete(usage, corev1.ResourcePods)
		} else {
			addPod(usage, object)
		}
	case *corev1.PersistentVolumeClaim:
		addClaim(usage, object)
	case *corev1.Service:
		usage[corev1.ResourceServicesNodePorts], usage[corev1.ResourceServicesLoadBalancers] = nodePorts(object), number(0)
		if object.Spec.Type == corev1.ServiceTypeLoadBalancer {
			usage[corev1.ResourceServicesLoadBalancers] = number(1)
		}
	}
	return usage
}

func number(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// addClaim adds the storage of a claim, which may already have more than it wants, and what it uses of its class.
func addClaim(usage corev1.ResourceList, claim *corev1.PersistentVolumeClaim) {
	wanted, there := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	size := wanted.DeepCopy()
	size.RoundUp(0) // bytes
	if allocated := claim.Status.AllocatedResources[corev1.ResourceStorage]; allocated.Cmp(size) > 0 {
		size = allocated.DeepCopy()
	}
	class := podsutil.ClassOf(claim)
	if there {
		usage[corev1.ResourceRequestsStorage] = size
	}
	if class == "" {
		return
	}
	usage[corev1.ResourceName(class+ofClass)+corev1.ResourcePersistentVolumeClaims] = number(1)
	if there {
		usage[corev1.ResourceName(class+ofClass)+corev1.ResourceRequestsStorage] = size
	}
}

// isOverdue reports whether the grace period of a deleted pod is over.
func isOverdue(pod *corev1.Pod, now time.Time) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && now.After(pod.DeletionTimestamp.Add(time.Duration(*grace)*time.Second))
}

// addPod adds the requests and limits of a pod.
func addPod(usage corev1.ResourceList, pod *corev1.Pod) {
	requests, limits := defaults.OfPod(&pod.Spec)
	for name, more := range pod.Spec.Overhead {
		sum := more.DeepCopy()
		sum.Add(requests[name])
		requests[name] = sum
		if limit, isLimited := limits[name]; isLimited {
			sum := more.DeepCopy()
			sum.Add(limit)
			limits[name] = sum
		}
	}
	addResources(usage, requests, limits)
}

// addResources adds requests and limits by the names that they have in a quota.
func addResources(usage, requests, limits corev1.ResourceList) {
	for name, quantity := range requests {
		if !strings.Contains(string(name), "/") {
			usage[name] = quantity
		}
		usage["requests."+name] = quantity
	}
	for name, quantity := range limits {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			usage["limits."+name] = quantity
		}
	}
}

// nodePorts returns how many ports a service wants on the nodes.
func nodePorts(service *corev1.Service) resource.Quantity {
	count := 0
	allocates := service.Spec.AllocateLoadBalancerNodePorts
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		for _, port := range service.Spec.Ports {
			if service.Spec.Type == corev1.ServiceTypeNodePort || allocates == nil || *allocates || port.NodePort != 0 {
				count++
			}
		}
	}
	return number(count)
}

// required are the names that each container must specify if a quota limits them.
var required = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory}

// CheckSpecified returns an error, in the words of today's server, if a container of a pod lacks what a quota limits.
// Other objects lack nothing.
func CheckSpecified(quota *corev1.ResourceQuota, object runtime.Object) error {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || pod.Spec.Resources != nil && len(pod.Spec.Resources.Requests)+len(pod.Spec.Resources.Limits) > 0 {
		return nil
	}
	lacking := map[corev1.ResourceName][]string{}
	for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		has := corev1.ResourceList{}
		addResources(has, container.Resources.Requests, container.Resources.Limits)
		for _, name := range required {
			_, isLimited := quota.Spec.Hard[name]
			if _, isSpecified := has[name]; isLimited && !isSpecified {
				lacking[name] = append(lacking[name], container.Name)
			}
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		slices.Sort(lacking[name])
		all = append(all, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(lacking[name]), ",")))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("must specify %s", strings.Join(all, "; "))
}
