package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestTheTypeOfAServiceSaysWhereItIsReachedFromOutside(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ service, expected string }{
		"a cluster IP has none":                     {`{"spec":{"type":"ClusterIP"}}`, "<none>"},
		"or those of its spec":                      {`{"spec":{"type":"ClusterIP","externalIPs":["1.1.1.1","2.2.2.2"]}}`, "1.1.1.1,2.2.2.2"},
		"a node port has none":                      {`{"spec":{"type":"NodePort"}}`, "<none>"},
		"a load balancer waits for its address":     {`{"spec":{"type":"LoadBalancer"}}`, "<pending>"},
		"which may be given":                        {`{"spec":{"type":"LoadBalancer","externalIPs":["1.1.1.1"]}}`, "1.1.1.1"},
		"or has several, in order and each once":    {`{"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"hostname":"z"},{"ip":"3.3.3.3","hostname":"h"},{"hostname":"z"},{}]}}}`, "3.3.3.3,z"},
		"before those of its spec":                  {`{"spec":{"type":"LoadBalancer","externalIPs":["1.1.1.1"]},"status":{"loadBalancer":{"ingress":[{"ip":"3.3.3.3"}]}}}`, "3.3.3.3,1.1.1.1"},
		"an external name is a name":                {`{"spec":{"type":"ExternalName","externalName":"example.com","externalIPs":["1.1.1.1"]}}`, "example.com"},
		"of another type, nobody knows where it is": {`{"spec":{"type":"X"}}`, "<unknown>"},
	} {
		assert.Equal(t, test.expected, cells(t, Services, object(t, &corev1.Service{}, test.service))["External-IP"], sentence)
	}
}

func TestAServiceHasItsFirstClusterIPAndAllPorts(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]map[string]any{
		`{"spec":{"type":"ClusterIP"}}`:                     {"Type": "ClusterIP", "Cluster-IP": "<none>", "Port(s)": "<none>", "Selector": "<none>"},
		`{"spec":{"clusterIP":"None"}}`:                     {"Cluster-IP": "None"},
		`{"spec":{"clusterIPs":["10.0.0.1","::1"]}}`:        {"Cluster-IP": "10.0.0.1"},
		`{"spec":{"selector":{"b":"c","a":""}}}`:            {"Selector": "a=,b=c"},
		`{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`: {"Port(s)": "80/TCP"},
		`{"spec":{"ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}}`: {"Port(s)": "80:30080/TCP,53/UDP"},
	} {
		contains(t, expected, cells(t, Services, object(t, &corev1.Service{}, text)))
	}
}
