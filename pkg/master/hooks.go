package master

import "kube2014/pkg/server/healthz"

// checks returns what must hold for the server to be healthy.
func (m *Master) checks() []healthz.Check {
	checks := []healthz.Check{healthz.Ping}
	if m.Stores.Healthz != nil {
		checks = append(checks, healthz.Check{Name: "etcd", Check: func() error {
			_, err := m.Stores.Healthz()
			return err
		}})
	}
	return checks
}

// addHooks lets the loops begin when the ports are open, and the watches end before they are
// closed.
func (m *Master) addHooks() {
	for _, loop := range m.Loops.all() {
		m.Server.AddLoop(loop)
	}
	if m.Roles.Policy != nil {
		m.Server.AddPostStartHook("rbac/bootstrap-roles", m.BootstrapRoles)
	}
	if m.Parts != nil {
		m.Server.AddLoop(m.Parts.Run)
		m.Server.AddPreShutdownHook("stop-parts", m.Parts.Stop)
	}
	if m.Second != nil {
		m.Server.AddPreShutdownHook("end-watches", func() error {
			m.Second.EndWatches()
			return nil
		})
	}
}
