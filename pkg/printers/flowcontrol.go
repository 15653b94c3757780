package printers

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// FlowSchemas prints *flowcontrolv1.FlowSchema.
var FlowSchemas = table[flowcontrolv1.FlowSchema](name, text("PriorityLevel", "spec.priorityLevelConfiguration.name"), text("MatchingPrecedence", "spec.matchingPrecedence"),
	with(text("DistinguisherMethod", "spec.distinguisherMethod"), func(method *flowcontrolv1.FlowDistinguisherMethod) string {
		if method == nil {
			return "<none>"
		}
		return string(method.Type)
	}), age,
	with(text("MissingPL", "status.conditions", "references a broken or non-existent PriorityLevelConfiguration"), func(conditions []flowcontrolv1.FlowSchemaCondition) string {
		for _, condition := range conditions {
			if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
				return string(condition.Status)
			}
		}
		return "?"
	}))

const queuing = "spec.limited.limitResponse.queuing."

// PriorityLevels prints *flowcontrolv1.PriorityLevelConfiguration.
var PriorityLevels = table[flowcontrolv1.PriorityLevelConfiguration](name, text("Type", "spec.type"),
	text("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares").or("<none>"), text("Queues", queuing+"queues").or("<none>"),
	text("HandSize", queuing+"handSize").or("<none>"), text("QueueLengthLimit", queuing+"queueLengthLimit").or("<none>"), age)
