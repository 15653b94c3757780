package master

import (
	"context"

	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server"
	"kube2014/pkg/util"
)

// addFlowControl lets a link create the built-in objects of flow control, and keep them.
func addFlowControl(link *server.Link, base generic.Base) {
	link.AddPostStartHook("priority-and-fairness-config-producer", func(ctx context.Context) error {
		return untilDone(ctx, func() error { return flowcontrol.Bootstrap(ctx, base) })
	})
	link.AddLoop(func(ctx context.Context) {
		for util.Sleep(ctx, namespacesPeriod) {
			logError(flowcontrol.Bootstrap(ctx, base))
		}
	})
}
