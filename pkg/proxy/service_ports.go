package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/client/cache"
)

// ServicePortName names a port of a service, and of its endpoints.
type ServicePortName struct {
	Service string // its namespace and name
	Port    string // empty if the service does not name its port
}

// String returns the name for people.
func (n ServicePortName) String() string {
	if n.Port == "" {
		return n.Service
	}
	return n.Service + ":" + n.Port
}

// servicePort is a port of a service that has a listener.
type servicePort struct {
	name     ServicePortName
	service  *corev1.Service // for events
	affinity time.Duration   // how long a client stays with an endpoint; 0: it takes turns
}

// problem is why a port of a service has no listener.
type problem struct {
	uid             types.UID
	reason, message string
}

// portsOf returns the service that gets each port, and the services with ports that get none. Of
// two services that want a port, the older one gets it.
func portsOf(services []*corev1.Service) (ports map[int]servicePort, problems map[problem]*corev1.Service) {
	ports, problems = map[int]servicePort{}, map[problem]*corev1.Service{}
	for _, service := range slices.SortedFunc(slices.Values(services), older) {
		if service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes" { // leads to the servers, whose ports are open
			continue
		}
		if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.ClusterIP == corev1.ClusterIPNone {
			continue
		}
		for _, port := range service.Spec.Ports {
			number := int(port.Port)
			other, taken := ports[number]
			switch {
			case port.Protocol != "" && port.Protocol != corev1.ProtocolTCP:
				problems[problem{service.UID, "UnsupportedProtocol", fmt.Sprintf("port %d is of %s: only TCP is served", number, port.Protocol)}] = service
			case taken:
				message := fmt.Sprintf("port %d is served for the older service %s", number, other.name.Service)
				problems[problem{service.UID, "PortAlreadyAllocated", message}] = service
			default:
				ports[number] = servicePort{ServicePortName{cache.Key(service), port.Name}, service, affinityOf(&service.Spec)}
			}
		}
	}
	return ports, problems
}

// older compares services by age. A creation time has whole seconds: within one, the smaller resourceVersion is
// older. Services of June 2014's API have no creation time: they come first.
func older(a, b *corev1.Service) int {
	version, _ := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion) // 0 if one is no number
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), version, cmp.Compare(cache.Key(a), cache.Key(b)))
}

func affinityOf(spec *corev1.ServiceSpec) time.Duration {
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	seconds := int32(corev1.DefaultClientIPServiceAffinitySeconds)
	if config := spec.SessionAffinityConfig; config != nil && config.ClientIP != nil && config.ClientIP.TimeoutSeconds != nil {
		seconds = *config.ClientIP.TimeoutSeconds
	}
	return time.Duration(seconds) * time.Second
}
