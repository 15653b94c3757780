package master

import (
	"context"

	"kube2014/pkg/rest/core/components"
)

// components returns the programs of whose health the server tells: etcd if there is one, and two programs where they
// listen by default, as today's server assumes.
func (m *Master) components() []components.Component {
	all := []components.Component{
		components.New("controller-manager", "https://127.0.0.1:10257/healthz"),
		components.New("scheduler", "https://127.0.0.1:10259/healthz"),
	}
	if healthz := m.Stores.Healthz; healthz != nil {
		all = append(all, components.Component{Name: "etcd-0", Check: func(context.Context) (string, error) {
			_, err := healthz()
			return "ok", err
		}})
	}
	return all
}
