package master

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/master/nodegraph"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/server"
	genericoptions "kube2014/pkg/server/options"
)

// BootstrapRoles creates the default roles of RBAC, and follows the roles in the store. It waits until the store is
// available. The error is that of the context when it ends.
func (m *Master) BootstrapRoles(ctx context.Context) error {
	return untilDone(ctx, func() error {
		if err := m.Roles.Load(); err != nil {
			return err
		}
		return rbac.Bootstrap(ctx, m.Stores.Objects, time.Now)
	})
}

// nodeRules returns the rules of the role system:node, if the Node authorizer is on, which needs them.
func (m *Master) nodeRules() []rbacv1.PolicyRule {
	if !m.o.Authorization.Has(genericoptions.Node) {
		return nil
	}
	for _, object := range rbac.Defaults() {
		if role, isRole := object.(*rbacv1.ClusterRole); isRole && role.Name == "system:node" {
			return role.Rules
		}
	}
	panic("master: there is no role system:node")
}

// machineOf returns the machine of a pod, "" for none.
func (m *Master) machineOf(namespace, name string) string {
	stored, err := m.Stores.Objects.Cached().Get(api.Key{Kind: api.TaskKind, Namespace: namespace, ID: name})
	if err != nil {
		return ""
	}
	return stored.Object.(api.Placed).Machine()
}

// addNodeGraph lets the Node authorizer, if it is on, follow what gives nodes access to other objects.
func (m *Master) addNodeGraph(delegate *server.Delegate) {
	if !m.o.Authorization.Has(genericoptions.Node) {
		return
	}
	for _, loop := range (nodegraph.Populator{Graph: m.nodes, Objects: m.Stores.Objects, Row: m.row}).Loops() {
		delegate.AddLoop(loop)
	}
}
