package warnings

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Service looks for what is ignored or deprecated, and at addresses.
var Service = of(func(l *list, now, _ *corev1.Service) {
	spec, at := &now.Spec, field.NewPath("spec")
	isHeadless := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone
	isName := spec.Type == corev1.ServiceTypeExternalName
	addIf := func(odd bool, text string) {
		if odd {
			l.add(text)
		}
	}
	_, hasHints := now.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	addIf(hasHints, "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead")
	if spec.ClusterIP != "" && spec.ClusterIP != corev1.ClusterIPNone {
		each(at.Child("clusterIPs"), spec.ClusterIPs, l.ip)
	}
	addIf(isHeadless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	addIf(isHeadless && len(spec.ExternalIPs) > 0, "spec.externalIPs is ignored for headless services")
	addIf(isHeadless && spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity is ignored for headless services")
	each(at.Child("externalIPs"), spec.ExternalIPs, l.ip)
	addIf(len(spec.ExternalIPs) > 0 && !isHeadless && !isName, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	l.ip(at.Child("loadBalancerIP"), spec.LoadBalancerIP)
	each(at.Child("loadBalancerSourceRanges"), spec.LoadBalancerSourceRanges, l.cidr)
	addIf(isName && len(spec.ExternalIPs) > 0, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	addIf(!isName && spec.ExternalName != "", `spec.externalName is ignored when spec.type is not "ExternalName"`)
	if spread := spec.TrafficDistribution; spread != nil && *spread == corev1.ServiceTrafficDistributionPreferClose {
		l.add(fmt.Sprintf("spec.trafficDistribution: %q is deprecated; use %q", *spread, corev1.ServiceTrafficDistributionPreferSameZone))
	}
})

// ip adds a warning if an address is not written as usual. What is no address is for others to tell.
func (l *list) ip(at *field.Path, value string) {
	address, err := netip.ParseAddr(value)
	if isUsual := value == "" || err == nil && address.Is4(); !isUsual && len(utilvalidation.IsValidIPForLegacyField(at, value, false, nil)) == 0 {
		l.add(utilvalidation.GetWarningsForIP(at, value)...)
	}
}

// each looks at each value of a list.
func each(at *field.Path, values []string, look func(at *field.Path, value string)) {
	for i, value := range values {
		look(at.Index(i), value)
	}
}

// cidr is as ip, for a block of addresses.
func (l *list) cidr(at *field.Path, value string) {
	if len(utilvalidation.IsValidCIDRForLegacyField(at, value, false, nil)) == 0 {
		l.add(utilvalidation.GetWarningsForCIDR(at, value)...)
	}
}
