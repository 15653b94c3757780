package flowcontrol

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"kube2014/pkg/rest"
)

// exempt and catchAll name the mandatory objects of both kinds.
const exempt, catchAll = "exempt", "catch-all"

// isMandatory reports whether clients may not change a built-in object.
func isMandatory(name string) bool { return name == exempt || name == catchAll }

// builtInLevels returns new objects: those of kube-apiserver, the exempt one first.
func builtInLevels() []*flowcontrolv1.PriorityLevelConfiguration {
	levels := slices.Concat([]*flowcontrolv1.PriorityLevelConfiguration{bootstrap.MandatoryPriorityLevelConfigurationExempt,
		bootstrap.MandatoryPriorityLevelConfigurationCatchAll}, bootstrap.SuggestedPriorityLevelConfigurations)
	for i, level := range levels {
		levels[i] = updated(level.DeepCopy())
		defaultLevel(levels[i])
	}
	return levels
}

// builtInFlows returns new objects: those of kube-apiserver.
func builtInFlows() []*flowcontrolv1.FlowSchema {
	flows := slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas)
	for i, flow := range flows {
		flows[i] = updated(flow.DeepCopy())
	}
	return flows
}

// updated annotates an object that is to be restored when it has changed.
func updated[T rest.Object](object T) T {
	object.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"})
	return object
}
