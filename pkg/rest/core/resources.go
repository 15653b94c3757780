// Package core is the table of the second door's resources: each kind with its strategy and
// its storage.
package core

import (
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/components"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/rest/policy"
	"kube2014/pkg/storage"
)

// Placer stores a new pod, on a machine or without one.
type Placer interface {
	Create(task *api.Task) (*storage.Object, error)
}

var (
	coreGroup = corev1.SchemeGroupVersion

	inAll = []string{"all"} // what kubectl get all shows
)

// Config has the dependencies of the resources.
type Config struct {
	Objects  storage.Interface
	Placer   Placer
	Now      func() time.Time
	EventTTL time.Duration     // the time from an event's last change to its deletion; 0 is for ever
	Kubelets connect.Kubelets  // nil for none
	Proxied  http.RoundTripper // of requests that are sent on to pods, services and nodes; it speaks HTTP/1.1 only
	Budgets  *policy.Budgets   // of the disruptions of pods; nil for none
	// Components are the programs of whose health the server tells.
	Components []components.Component
	// Issuer signs the tokens of service accounts; nil if there are none.
	Issuer *serviceaccount.Issuer
	// IgnoreDependents is that of rest.Base.
	IgnoreDependents bool
}

// Resources returns the table. The rows of each kind are beside its strategy.
func Resources(c Config) []rest.Resource {
	b := rest.Base{Objects: c.Objects, Now: c.Now, IgnoreDependents: c.IgnoreDependents}
	nodeRows, network := nodeRows(b, c)
	podRows, secretRows, endpointsRows := podRows(b, network, c), secrets.Rows(b), endpointsRows(b)
	accountRows := serviceAccountRows(b, c.Issuer, getterIn(podRows, "pods"), getterIn(secretRows, "secrets"), network.Nodes)
	return slices.Concat(components.Rows(c.Components), configMaps.Rows(b), endpointsRows, eventRows(b, c.EventTTL), quotaRows(b), namespaceRows(b), nodeRows,
		podRows, podTemplates.Rows(b), controllers.Rows(b), secretRows, accountRows, serviceRows(b, network, getterIn(podRows, "pods"), getterIn(endpointsRows, "endpoints")))
}

// getterIn returns the storage of a resource.
func getterIn(rows []rest.Resource, name string) rest.Getter {
	i := slices.IndexFunc(rows, func(row rest.Resource) bool { return row.Name == name })
	return rows[i].Storage.(rest.Getter)
}

// coreRow returns the row of a kind of the group without a name.
func coreRow(kind, name string, stored api.Kind, printer printers.Printer, shortNames ...string) rest.Resource {
	row := rest.InNamespaces(coreGroup, kind, name, printer, shortNames...)
	row.StoredKind = stored
	return row
}

// countGeneration increments the generation of an object if its spec has changed.
func countGeneration(object rest.Object, spec, old interface{}) {
	if !equality.Semantic.DeepEqual(spec, old) {
		object.SetGeneration(object.GetGeneration() + 1)
	}
}
