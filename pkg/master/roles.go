package master

import (
	"context"
	"time"

	"kube2014/pkg/options"
	"kube2014/pkg/rest/rbac"
)

// readRoles lets RBAC, if it is on, decide by the roles in the store.
func (m *Master) readRoles() {
	if m.o.Authorization.Has(options.RBAC) {
		m.Roles.Policy = rbac.NewPolicy(m.Stores.Objects)
	}
}

// BootstrapRoles creates the default roles of RBAC, and follows the roles in the store, however
// long it takes until the store can be reached. The error is the context's, which has ended.
func (m *Master) BootstrapRoles(ctx context.Context) error {
	for logged := ""; ; {
		err := m.Roles.Load()
		if err == nil {
			err = rbac.Bootstrap(ctx, m.Stores.Objects, time.Now)
		}
		if err == nil {
			return nil
		}
		if err.Error() != logged {
			logError(err)
			logged = err.Error()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(syncPause):
		}
	}
}
