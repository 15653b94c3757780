package validation

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// ValidateService checks a new service.
var ValidateService = creates(func(c checks, service *corev1.Service) {
	c.Metadata(&service.ObjectMeta, true, apivalidation.NameIsDNSLabel)
	c.service(service, &corev1.Service{})
})

// ValidateServiceUpdate checks an update of a service. The first cluster IP is immutable unless the
// service becomes an ExternalName or was one.
var ValidateServiceUpdate = updates(func(c checks, now, old *corev1.Service) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	at := field.NewPath("spec")
	if now.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		c.keptAddresses(&now.Spec, &old.Spec, at)
	}
	if now.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer {
		c.InvalidIf(!check.Same(now.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass), at.Child("loadBalancerClass"), now.Spec.LoadBalancerClass, "may not change once set")
	}
	c.balancerClass(&now.Spec, at.Child("loadBalancerClass"))
	c.service(now, old)
})

// keptAddresses lets the second address change, but not the first.
func (c checks) keptAddresses(now, old *corev1.ServiceSpec, at *field.Path) {
	ips, before, first := now.ClusterIPs, old.ClusterIPs, at.Child("clusterIPs").Index(0)
	switch {
	case len(before) == 0:
	case len(ips) == 0:
		c.Add(field.Invalid(first, ips, "primary clusterIP can not be unset"))
	default:
		c.InvalidIf(ips[0] != before[0], first, ips, "may not change once set")
	}
}

func isHeadless(spec *corev1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

// service checks all but the metadata. Addresses of the old service may have a legacy form.
func (c checks) service(service, old *corev1.Service) {
	at, spec := field.NewPath("spec"), &service.Spec
	hints, hinted := service.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, moded := service.Annotations[corev1.AnnotationTopologyMode]
	c.InvalidIf(hinted && moded && hints != mode, field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode), mode,
		fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))
	external := spec.Type == corev1.ServiceTypeExternalName
	c.RequiredIf(len(spec.Ports) == 0 && !isHeadless(spec) && !external, at.Child("ports"), "")
	if isHeadless(spec) && (spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort) {
		c.Add(field.Invalid(at.Child("clusterIPs").Index(0), "None", fmt.Sprintf("may not be set to 'None' for %s services", spec.Type)))
	}
	if external {
		c.externalName(spec, at)
	}
	c.servicePorts(spec.Ports, at.Child("ports"))
	c.Add(metavalidation.ValidateLabels(spec.Selector, at.Child("selector"))...)
	check.RequireSupported(c.Errors, at.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	c.sessionAffinity(spec, at.Child("sessionAffinityConfig"))
	if !external {
		c.clusterIPs(spec, old.Spec.ClusterIPs, at)
	}
	for i, ip := range spec.ExternalIPs {
		own := newChecks()
		own.IP(at.Child("externalIPs").Index(i), ip, old.Spec.ExternalIPs...)
		if len(own.List) == 0 {
			own.externalIP(at.Child("externalIPs").Index(i), ip)
		}
		c.Add(own.List...)
	}
	check.RequireSupported(c.Errors, at.Child("type"), spec.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	c.portNumbers(spec, at.Child("ports"))
	c.balancer(service, &old.Spec, at)
	c.traffic(spec, at)
}

func (c checks) externalName(spec *corev1.ServiceSpec, at *field.Path) {
	const why = "may not be set for ExternalName services"
	c.Forbid(len(spec.ClusterIPs) > 0, at.Child("clusterIPs"), why)
	c.Forbid(len(spec.IPFamilies) > 0, at.Child("ipFamilies"), why)
	c.Forbid(spec.IPFamilyPolicy != nil, at.Child("ipFamilyPolicy"), why)
	c.RequireBy(at.Child("externalName"), strings.TrimSuffix(spec.ExternalName, "."), c.Subdomain)
}

func (c checks) servicePorts(ports []corev1.ServicePort, at *field.Path) {
	names := check.Unique{}
	for i, port := range ports {
		at := at.Index(i)
		if port.Name != "" {
			c.Label(at.Child("name"), port.Name)
			names.Check(c.Errors, at.Child("name"), port.Name)
		} else if len(ports) > 1 {
			c.Add(field.Required(at.Child("name"), ""))
		}
		c.PortNumber(at.Child("port"), port.Port)
		check.RequireSupported(c.Errors, at.Child("protocol"), port.Protocol, check.Protocols...)
		c.Port(at.Child("targetPort"), port.TargetPort)
		check.IfSet(at.Child("appProtocol"), port.AppProtocol, c.Qualified)
	}
}

func (c checks) sessionAffinity(spec *corev1.ServiceSpec, at *field.Path) {
	config := spec.SessionAffinityConfig
	switch needed := "when session affinity type is ClientIP"; {
	case spec.SessionAffinity != corev1.ServiceAffinityClientIP:
		c.Forbid(config != nil && spec.SessionAffinity == corev1.ServiceAffinityNone, at, "must not be set when session affinity is None")
	case config == nil:
		c.Add(field.Required(at, needed))
	case config.ClientIP == nil:
		c.Add(field.Required(at.Child("clientIP"), needed))
	case config.ClientIP.TimeoutSeconds == nil:
		c.Add(field.Required(at.Child("clientIP", "timeoutSeconds"), needed))
	default:
		seconds := *config.ClientIP.TimeoutSeconds
		c.InvalidIf(seconds <= 0 || seconds > 86400, at.Child("clientIP", "timeoutSeconds"), &seconds, "must be greater than 0 and less than 86400")
	}
}

func (c checks) clusterIPs(spec *corev1.ServiceSpec, old []string, at *field.Path) {
	ips, list := spec.ClusterIPs, at.Child("clusterIPs")
	switch {
	case spec.ClusterIP == "":
		c.InvalidIf(len(ips) > 0, list, ips, "must be empty when `clusterIP` is not specified")
	case len(ips) == 0:
		c.Add(field.Required(list, ""))
	default:
		c.InvalidIf(ips[0] != spec.ClusterIP, list, ips, "first value must match `clusterIP`")
	}
	families := check.Unique{}
	for i, family := range spec.IPFamilies {
		check.Supported(c.Errors, at.Child("ipFamilies").Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		families.Check(c.Errors, at.Child("ipFamilies").Index(i), string(family))
	}
	check.IfSupported(c.Errors, at.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)
	own := newChecks()
	for i, ip := range ips {
		if i == 0 && ip == corev1.ClusterIPNone {
			own.InvalidIf(len(ips) > 1, list, ips, "'None' must be the first and only value")
		} else {
			own.IP(list.Index(i), ip, old...)
		}
	}
	c.Add(own.List...)
	c.InvalidIf(len(ips) > 2, list, ips, "may only hold up to 2 values")
	if len(own.List) > 0 {
		return
	}
	c.InvalidIf(len(ips) > 1 && !check.DualStack(ips[:2]), list, ips, "may specify no more than one IP for each IP family")
	for i := range min(len(ips), len(spec.IPFamilies)) {
		addr, err := netip.ParseAddr(ips[i])
		if family := spec.IPFamilies[i]; err == nil && (family == corev1.IPv6Protocol && addr.Is4() || family == corev1.IPv4Protocol && !addr.Is4()) {
			c.Add(field.Invalid(list.Index(i), ips[i], fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", family, i)))
		}
	}
}

// portNumbers checks that ports and node ports are unique for each protocol.
func (c checks) portNumbers(spec *corev1.ServiceSpec, at *field.Path) {
	for i, port := range spec.Ports {
		c.Forbid(port.NodePort != 0 && spec.Type == corev1.ServiceTypeClusterIP, at.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'")
	}
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	nodePorts, ports := sets.New[number](), sets.New[number]()
	for i, port := range spec.Ports {
		own := number{port.Protocol, port.NodePort}
		c.DuplicateIf(port.NodePort != 0 && nodePorts.Has(own), at.Index(i).Child("nodePort"), port.NodePort)
		nodePorts.Insert(own)
	}
	for i, port := range spec.Ports {
		own := number{port.Protocol, port.Port}
		c.DuplicateIf(ports.Has(own), at.Index(i), corev1.ServicePort{Protocol: port.Protocol, Port: port.Port})
		ports.Insert(own)
	}
}

func (c checks) balancer(service *corev1.Service, old *corev1.ServiceSpec, at *field.Path) {
	const only = "may only be used when `type` is 'LoadBalancer'"
	spec, balanced := &service.Spec, service.Spec.Type == corev1.ServiceTypeLoadBalancer
	annotation, annotated := service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if ranges := spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		at := at.Child("LoadBalancerSourceRanges")
		c.Forbid(!balanced, at, only)
		var known []string
		for _, value := range old.LoadBalancerSourceRanges {
			known = append(known, strings.TrimSpace(value))
		}
		for i, value := range ranges {
			c.CIDR(at.Index(i), strings.TrimSpace(value), known...)
		}
	} else if annotated {
		at := field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
		c.Forbid(!balanced, at, only)
		if annotation = strings.TrimSpace(annotation); annotation != "" {
			for value := range strings.SplitSeq(annotation, ",") {
				c.CIDR(at, strings.TrimSpace(value))
			}
		}
	}
	c.Forbid(spec.AllocateLoadBalancerNodePorts != nil && !balanced, at.Child("allocateLoadBalancerNodePorts"), only)
	c.RequiredIf(spec.AllocateLoadBalancerNodePorts == nil && balanced, field.NewPath("allocateLoadBalancerNodePorts"), "")
	c.balancerClass(spec, at.Child("loadBalancerClass"))
}

func (c checks) balancerClass(spec *corev1.ServiceSpec, at *field.Path) {
	if class := spec.LoadBalancerClass; class == nil {
		return
	} else if spec.Type == corev1.ServiceTypeLoadBalancer {
		c.Qualified(at, *class)
	} else {
		c.Add(field.Forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
	}
}

func (c checks) traffic(spec *corev1.ServiceSpec, at *field.Path) {
	policy := at.Child("externalTrafficPolicy")
	reached := spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort
	if reached || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0 {
		check.RequireSupported(c.Errors, policy, spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	} else {
		c.InvalidIf(spec.ExternalTrafficPolicy != "", policy, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	}
	// A real server allocates a health check port for such services; this server has none.
	checked := spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	c.InvalidIf(!checked && spec.HealthCheckNodePort != 0, at.Child("healthCheckNodePort"), spec.HealthCheckNodePort,
		"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	if checked && spec.HealthCheckNodePort != 0 {
		c.PortNumber(at.Child("healthCheckNodePort"), spec.HealthCheckNodePort)
	}
	c.RequiredIf(spec.InternalTrafficPolicy == nil && (reached || spec.Type == corev1.ServiceTypeClusterIP), at.Child("internalTrafficPolicy"), "")
	check.IfSupported(c.Errors, at.Child("internalTrafficPolicy"), spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	check.IfSupported(c.Errors, at.Child("trafficDistribution"), spec.TrafficDistribution, corev1.ServiceTrafficDistributionPreferClose,
		corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)
}
