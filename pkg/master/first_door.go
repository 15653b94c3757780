package master

import (
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/server/request"
)

// CreateFirstAPIServer returns the server of June 2014's API: a table of its resources below a
// prefix. healthz is that of the registries.
func CreateFirstAPIServer(table map[string]apiserver.RESTStorage, healthz func() ([]string, error), prefix string) *apiserver.ApiServer {
	first := apiserver.New(table, prefix)
	first.Healthz, first.KnownAs = healthz, knownAs
	return first
}

// knownAs lets one policy decide about both doors: a task is a pod.
var knownAs = map[string]request.Info{
	"tasks":                  {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "pods"},
	"replicationControllers": {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "replicationcontrollers"},
	"services":               {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "services"},
}
