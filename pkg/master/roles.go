package master

import (
	"context"
	"time"

	"kube2014/pkg/rest/rbac"
	genericoptions "kube2014/pkg/server/options"
)

// readRoles sets the policy of RBAC, if it is on, to the roles in the store.
func (m *Master) readRoles() {
	if m.o.Authorization.Has(genericoptions.RBAC) {
		m.Roles.Policy = rbac.NewPolicy(m.Stores.Objects)
	}
}

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
