package master

import (
	"context"
	"time"

	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/rest/scheduling"
	"kube2014/pkg/server"
	"kube2014/pkg/util"
)

// builtInPeriod is the period in which built-in objects that were deleted are created again.
const builtInPeriod = time.Minute

// addBuiltIn lets a delegate create the objects that every server has, and keep them.
func (m *Master) addBuiltIn(delegate *server.Delegate, base generic.Base) {
	namespaces := func(ctx context.Context) error { return core.BootstrapNamespaces(ctx, m.Stores.Objects, time.Now) }
	classes := func(ctx context.Context) error { return scheduling.Bootstrap(ctx, base) }
	flows := func(ctx context.Context) error { return flowcontrol.Bootstrap(ctx, base) }
	hook := func(create func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { return untilDone(ctx, func() error { return create(ctx) }) }
	}
	delegate.AddPostStartHook("start-system-namespaces-controller", m.BootstrapNamespaces)
	delegate.AddPostStartHook("scheduling/bootstrap-system-priority-classes", hook(classes))
	delegate.AddPostStartHook("priority-and-fairness-config-producer", hook(flows))
	delegate.AddLoop(func(ctx context.Context) {
		for util.Sleep(ctx, builtInPeriod) {
			for _, create := range []func(context.Context) error{namespaces, classes, flows} {
				logError(create(ctx))
			}
		}
	})
}
