package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

func TestObjectsOfTheGroupsHaveTheirColumns(t *testing.T) {
	t.Parallel()
	contains(t, map[string]any{"Min Available": "N/A", "Max Unavailable": "N/A", "Allowed Disruptions": int64(0)},
		cells(t, PodDisruptionBudgets, object(t, &policyv1.PodDisruptionBudget{}, `{}`)))
	contains(t, map[string]any{"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": int64(2)},
		cells(t, PodDisruptionBudgets, object(t, &policyv1.PodDisruptionBudget{}, `{"spec":{"minAvailable":"50%"},"status":{"disruptionsAllowed":2}}`)))
	contains(t, map[string]any{"Value": int64(7), "Global-Default": true, "PreemptionPolicy": "Never"},
		cells(t, PriorityClasses, object(t, &schedulingv1.PriorityClass{}, `{"value":7,"globalDefault":true,"preemptionPolicy":"Never"}`)))
	contains(t, map[string]any{"PreemptionPolicy": ""}, cells(t, PriorityClasses, object(t, &schedulingv1.PriorityClass{}, `{}`)))
	contains(t, map[string]any{"Handler": "h"}, cells(t, RuntimeClasses, object(t, &nodev1.RuntimeClass{}, `{"handler":"h"}`)))
	contains(t, map[string]any{"Holder": "me"}, cells(t, Leases, object(t, &coordinationv1.Lease{}, `{"spec":{"holderIdentity":"me"}}`)))
	contains(t, map[string]any{"Holder": ""}, cells(t, Leases, object(t, &coordinationv1.Lease{}, `{}`)))
	contains(t, map[string]any{"Pod-Selector": "a=b"}, cells(t, NetworkPolicies, object(t, &networkingv1.NetworkPolicy{}, `{"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}`)))
	contains(t, map[string]any{"Name": "c (default)", "Controller": "a/b", "Parameters": "K.g/n"}, cells(t, IngressClasses, object(t, &networkingv1.IngressClass{},
		`{"metadata":{"name":"c","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"a/b","parameters":{"apiGroup":"g","kind":"K","name":"n"}}}`)))
	contains(t, map[string]any{"Parameters": "<none>"}, cells(t, IngressClasses, object(t, &networkingv1.IngressClass{}, `{}`)))
}

func TestAnIngressHasItsHostsAndAddresses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]map[string]any{
		`{}`: {"Class": "<none>", "Hosts": "*", "Address": "", "Ports": "80"},
		`{"spec":{"ingressClassName":"c","tls":[{}],"rules":[{"host":"a"},{}]},"status":{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"hostname":"b"},{"ip":"1.1.1.1"},{"ip":"1.1.1.1"}]}}}`: {
			"Class": "c", "Hosts": "a", "Address": "1.1.1.1,2.2.2.2,b", "Ports": "80, 443"},
		`{"spec":{"rules":[{"host":"a"},{"host":"b"},{},{"host":"c"}]}}`:              {"Hosts": "a,b,c"},
		`{"spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"},{},{"host":"d"}]}}`: {"Hosts": "a,b,c + 2 more..."},
	} {
		assert.NotPanics(t, func() { contains(t, want, cells(t, Ingresses, object(t, &networkingv1.Ingress{}, spec))) }, spec)
	}
}
