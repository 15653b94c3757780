package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestAControllerWithoutATemplateHasNoContainers(t *testing.T) {
	t.Parallel()
	controller := object(t, &corev1.ReplicationController{}, `{"metadata":{"name":"r"}}`)
	assert.Equal(t, map[string]any{
		"Name": "r", "Desired": int64(0), "Current": int64(0), "Ready": int64(0), "Age": "<unknown>",
		"Containers": "", "Images": "", "Selector": "<none>",
	}, cells(t, ReplicationControllers, controller))

	object(t, controller, `{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i:1"},{"name":"b","image":"j"}]}}}}`)
	contains(t, map[string]any{"Containers": "a,b", "Images": "i:1,j"}, cells(t, ReplicationControllers, controller))
}
