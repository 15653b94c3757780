package printers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Components prints *corev1.ComponentStatus.
var Components = table[corev1.ComponentStatus](name,
	with(text("Status", "conditions", "Status of the component conditions"), func(all []corev1.ComponentCondition) string {
		health := healthOf(all)
		if health.Status == corev1.ConditionTrue {
			return "Healthy"
		}
		return map[bool]string{true: "Unhealthy", false: "Unknown"}[health.Type != ""]
	}),
	with(text("Message", "conditions", "Message of the component conditions"), func(all []corev1.ComponentCondition) string { return healthOf(all).Message }),
	with(text("Error", "conditions", "Error of the component conditions"), func(all []corev1.ComponentCondition) string { return healthOf(all).Error }))

func healthOf(all []corev1.ComponentCondition) (health corev1.ComponentCondition) {
	if i := slices.IndexFunc(all, func(condition corev1.ComponentCondition) bool { return condition.Type == corev1.ComponentHealthy }); i >= 0 {
		health = all[i]
	}
	return health
}
