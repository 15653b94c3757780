package controller

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// taken returns the names of pods, whosever they are and whatever becomes of them.
func taken(pods []*corev1.Pod) map[string]bool {
	names := make(map[string]bool, len(pods))
	for _, pod := range pods {
		names[pod.Name] = true
	}
	return names
}

// podNames returns the names of a number of pods to be made for a controller: first those that are
// reserved, then the lowest ones that are not taken.
func podNames(controller string, number int, taken map[string]bool, reserved []string) []string {
	names := slices.Clone(reserved[:min(number, len(reserved))])
	for i := 1; len(names) < number; i++ {
		name := countedName(controller, i)
		if !taken[name] && !slices.Contains(reserved, name) {
			names = append(names, name)
		}
	}
	return names
}

// countedName returns the name of the pod of a number. The name of a controller that is too long
// for that is cut.
func countedName(controller string, number int) string {
	suffix := "-" + strconv.Itoa(number)
	if most := validation.DNS1123SubdomainMaxLength - len(suffix); len(controller) > most {
		controller = strings.TrimRight(controller[:most], "-.")
	}
	return controller + suffix
}
