package printers

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ConfigMaps prints *corev1.ConfigMap.
var ConfigMaps = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Data", corev1.ConfigMap{}.SwaggerDoc()["data"]), ageColumn},
	Cells: of(func(config *corev1.ConfigMap, now time.Time) []any {
		return []any{config.Name, int64(len(config.Data) + len(config.BinaryData)), since(config.CreationTimestamp.Time, now)}
	}),
}

var secretDoc = corev1.Secret{}.SwaggerDoc()

// Secrets prints *corev1.Secret, without its data.
var Secrets = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Type", secretDoc["type"]), text("Data", secretDoc["data"]), ageColumn},
	Cells: of(func(secret *corev1.Secret, now time.Time) []any {
		return []any{secret.Name, string(secret.Type), int64(len(secret.Data)), since(secret.CreationTimestamp.Time, now)}
	}),
}

// ServiceAccounts prints *corev1.ServiceAccount.
var ServiceAccounts = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, ageColumn},
	Cells: of(func(account *corev1.ServiceAccount, now time.Time) []any {
		return []any{account.Name, since(account.CreationTimestamp.Time, now)}
	}),
}

// ResourceQuotas prints *corev1.ResourceQuota: how much of it is used.
var ResourceQuotas = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn,
		text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
		text("Limit", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."), ageColumn},
	Cells: of(func(quota *corev1.ResourceQuota, now time.Time) []any {
		var requests, limits []string
		for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
			used, hard := quota.Status.Used[name], quota.Status.Hard[name]
			cell := string(name) + ": " + used.String() + "/" + hard.String()
			if strings.HasPrefix(string(name), "limits.") {
				limits = append(limits, cell)
			} else {
				requests = append(requests, cell)
			}
		}
		return []any{quota.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), since(quota.CreationTimestamp.Time, now)}
	}),
}

// PodTemplates prints *corev1.PodTemplate.
var PodTemplates = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, containersColumn, imagesColumn, text("Pod Labels", "The labels for the pod template.")},
	Cells: of(func(template *corev1.PodTemplate, _ time.Time) []any {
		names, images := containerCells(&template.Template)
		return []any{template.Name, names, images, labels.FormatLabels(template.Template.Labels)}
	}),
}
