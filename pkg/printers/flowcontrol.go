package printers

import (
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var schemaDoc, queuingDoc = flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc(), flowcontrolv1.QueuingConfiguration{}.SwaggerDoc()

// FlowSchemas prints *flowcontrolv1.FlowSchema.
var FlowSchemas = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("PriorityLevel", flowcontrolv1.PriorityLevelConfigurationReference{}.SwaggerDoc()["name"]),
		text("MatchingPrecedence", schemaDoc["matchingPrecedence"]),
		text("DistinguisherMethod", schemaDoc["distinguisherMethod"]),
		ageColumn,
		text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
	},
	Cells: of(func(flow *flowcontrolv1.FlowSchema, now time.Time) []any {
		method, missing := "<none>", "?"
		if by := flow.Spec.DistinguisherMethod; by != nil {
			method = string(by.Type)
		}
		for _, condition := range flow.Status.Conditions {
			if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
				missing = string(condition.Status)
				break
			}
		}
		return []any{flow.Name, flow.Spec.PriorityLevelConfiguration.Name, int64(flow.Spec.MatchingPrecedence), method, since(flow.CreationTimestamp.Time, now), missing}
	}),
}

// PriorityLevels prints *flowcontrolv1.PriorityLevelConfiguration.
var PriorityLevels = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Type", flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc()["type"]),
		text("NominalConcurrencyShares", flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc()["nominalConcurrencyShares"]),
		text("Queues", queuingDoc["queues"]),
		text("HandSize", queuingDoc["handSize"]),
		text("QueueLengthLimit", queuingDoc["queueLengthLimit"]),
		ageColumn,
	},
	Cells: of(func(level *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
		const none = "<none>"
		cells := []any{level.Name, string(level.Spec.Type), none, none, none, none, since(level.CreationTimestamp.Time, now)}
		if limited := level.Spec.Limited; limited != nil {
			if limited.NominalConcurrencyShares != nil {
				cells[2] = *limited.NominalConcurrencyShares
			}
			if q := limited.LimitResponse.Queuing; q != nil {
				cells[3], cells[4], cells[5] = q.Queues, q.HandSize, q.QueueLengthLimit
			}
		}
		return cells
	}),
}
