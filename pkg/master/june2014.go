package master

import (
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/options"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
)

// createJune2014 creates the last delegate: the API of June 2014, with the loops that any registries need. It answers
// 404 to requests that no delegate serves.
func (m *Master) createJune2014(table map[string]apiserver.RESTStorage) *server.Delegate {
	for resource, storage := range table {
		table[resource] = m.tracer.RESTStorage(storage)
	}
	if !m.o.APIEnablement.Serves(options.June2014) {
		table = nil
	}
	m.June2014 = CreateJune2014APIServer(table, m.Stores.Healthz, m.o.Generic.Prefix)
	delegate := &server.Delegate{Name: "June 2014", Server: m.June2014}
	if m.Stores.Healthz != nil {
		delegate.Checks = []healthz.Check{{Name: "etcd", Check: func() error {
			_, err := m.Stores.Healthz()
			return err
		}}}
	}
	delegate.AddLoop(m.Loops.SyncForever)
	delegate.AddLoop(m.Loops.SyncOnChange)
	if m.Loops.follow != nil {
		delegate.AddLoop(m.Loops.followForever)
	}
	return delegate
}

// CreateJune2014APIServer returns the server of a table of June 2014's resources, below a prefix.
func CreateJune2014APIServer(table map[string]apiserver.RESTStorage, healthz func() ([]string, error), prefix string) *apiserver.ApiServer {
	first := apiserver.New(table, prefix)
	first.Healthz, first.KnownAs = healthz, knownAs
	return first
}

// knownAs maps the resources of June 2014 to today's, so that one policy applies to both doors: a task is a pod.
var knownAs = map[string]request.RequestInfo{
	"tasks":                  {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "pods"},
	"replicationControllers": {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "replicationcontrollers"},
	"services":               {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "services"},
}

// trackJune2014 makes June 2014 the manager of the fields that it has changed in an object with managed fields.
func (m *Master) trackJune2014(before *storage.Object, next api.Object) {
	type tracker interface {
		Track(before *storage.Object, next api.Object, manager string)
	}
	m.catalogs.ByStoredKind(next.Key().Kind).Storage.(tracker).Track(before, next, fieldmanager.June2014)
}
