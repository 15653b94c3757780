package printers

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ConfigMaps prints *corev1.ConfigMap.
var ConfigMaps = table[corev1.ConfigMap](name, with(text("Data", "data"), func(o *corev1.ConfigMap) int { return len(o.Data) + len(o.BinaryData) }), age)

// Secrets prints *corev1.Secret, without its data.
var Secrets = table[corev1.Secret](name, text("Type", "type"), count(text("Data", "data")), age)

// ResourceQuotas prints *corev1.ResourceQuota: how much of it is used.
var ResourceQuotas = table[corev1.ResourceQuota](name,
	with(text("Request", "status", "Request represents a minimum amount of cpu/memory that a container may consume."), used(false)),
	with(text("Limit", "status", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."), used(true)), age)

// used returns a function that tells how much of the limits, or else of all other resources, is used.
func used(limits bool) func(*corev1.ResourceQuotaStatus) string {
	return func(status *corev1.ResourceQuotaStatus) string {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(status.Hard)) {
			if strings.HasPrefix(string(name), "limits.") == limits {
				used, hard := status.Used[name], status.Hard[name]
				all = append(all, string(name)+": "+used.String()+"/"+hard.String())
			}
		}
		return strings.Join(all, ", ")
	}
}

// PodTemplates prints *corev1.PodTemplate.
var PodTemplates = table[corev1.PodTemplate](name, namesOf("template"), imagesOf("template"),
	with(text("Pod Labels", "template.metadata.labels", "The labels for the pod template."), labels.FormatLabels))
