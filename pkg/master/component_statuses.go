package master

import (
	"context"

	"kube2014/pkg/rest/core"
)

// components returns the programs of whose health the server tells: etcd if there is one, and two programs where they
// listen by default, as today's server assumes.
func (m *Master) components() []core.Component {
	all := []core.Component{
		core.NewComponent("controller-manager", "https://127.0.0.1:10257/healthz"),
		core.NewComponent("scheduler", "https://127.0.0.1:10259/healthz"),
	}
	if healthz := m.Stores.Healthz; healthz != nil {
		all = append(all, core.Component{Name: "etcd-0", Check: func(context.Context) (string, error) {
			_, err := healthz()
			return "ok", err
		}})
	}
	return all
}
