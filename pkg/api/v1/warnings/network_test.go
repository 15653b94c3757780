package warnings

import "testing"

func TestWhatIsOddInAServiceIsTold(t *testing.T) {
	t.Parallel()
	service := func(fields string) string { return `{"spec":{"sessionAffinity":"None",` + fields + `}}` }
	headless := func(fields string) string { return `{"spec":{"type":"ClusterIP","clusterIP":"None",` + fields + `}}` }
	says(t, Service, map[string]said{
		"plain": {service(`"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"loadBalancerSourceRanges":["10.0.0.0/8"]`), "", nil},
		"hints": {`{"metadata":{"annotations":{"service.kubernetes.io/topology-aware-hints":"auto"}}}`, "",
			[]string{"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead"}},
		"headless": {headless(`"sessionAffinity":"ClientIP","loadBalancerIP":"1.2.3.4","externalIPs":["1.2.3.4"]`), "", []string{
			"spec.loadBalancerIP is ignored for headless services", "spec.externalIPs is ignored for headless services", "spec.SessionAffinity is ignored for headless services",
		}},
		"addresses": {service(`"clusterIP":"FD00::1","clusterIPs":["FD00::1"],"loadBalancerIP":"010.0.0.1"`), "", []string{
			`spec.clusterIPs[0]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")`,
			`spec.loadBalancerIP: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`,
		}},
		"blocks":        {service(`"loadBalancerSourceRanges":["10.1.0.0/8"]`), "", []string{`spec.loadBalancerSourceRanges[0]: CIDR value "10.1.0.0/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.0.0/32"?)`}},
		"external IPs":  {service(`"externalIPs":["1.2.3.4"]`), "", []string{"spec.externalIPs is deprecated and may no longer be implemented in some clusters"}},
		"external name": {service(`"type":"ExternalName","externalName":"x","externalIPs":["1.2.3.4"]`), "", []string{`spec.externalIPs is ignored when spec.type is "ExternalName"`}},
		"ignored name":  {service(`"type":"ClusterIP","externalName":"x"`), "", []string{`spec.externalName is ignored when spec.type is not "ExternalName"`}},
		"close":         {service(`"trafficDistribution":"PreferClose"`), "", []string{`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`}},
	})
}
