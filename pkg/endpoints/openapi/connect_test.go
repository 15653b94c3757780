package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/discovery"
)

func TestWhatConnectsIsDescribedForEachMethodAndForPathsBelow(t *testing.T) {
	t.Parallel()
	v1 := corev1.SchemeGroupVersion
	web, stream := metav1.Verbs{"create", "delete", "get", "patch", "update"}, metav1.Verbs{"create", "get"}
	d := newDocument(Version{Version: discovery.Version{GroupVersion: v1, Resources: []metav1.APIResource{
		{Name: "nodes", Kind: "Node"},
		{Name: "nodes/proxy", Kind: "NodeProxyOptions", Verbs: web},
		{Name: "pods", Kind: "Pod", Namespaced: true},
		{Name: "pods/exec", Kind: "PodExecOptions", Namespaced: true, Verbs: stream},
	}}}, newKindTypes(map[schema.GroupVersionKind]any{
		v1.WithKind("NodeProxyOptions"): corev1.NodeProxyOptions{}, v1.WithKind("PodExecOptions"): corev1.PodExecOptions{},
	}))
	var lines []string
	for path, operations := range d.Paths {
		for method, o := range operations {
			assert.Equal(t, "connect", o.Action)
			assert.Equal(t, map[string]response{"200": {"OK", typed(object{Type: "string"}, "*/*")}, "401": {Description: "Unauthorized"}}, o.Responses)
			var parameters []string
			for _, p := range o.Parameters {
				assert.Equal(t, p.In == "path", p.Required, p.Name)
				parameters = append(parameters, fmt.Sprint(p.In, " ", p.Name, " ", p.Schema.Type))
			}
			lines = append(lines, strings.Join([]string{method, path, o.ID, o.Kind.Kind, o.Description, strings.Join(parameters, ",")}, "; "))
		}
	}
	slices.Sort(lines)
	const exec = "query command string,query container string,path name string,path namespace string,query stderr boolean,query stdin boolean,query stdout boolean,query tty boolean"
	wanted := []string{
		"get; /api/v1/namespaces/{namespace}/pods/{name}/exec; connectCoreV1GetNamespacedPodExec; PodExecOptions; connect GET requests to exec of Pod; " + exec,
		"post; /api/v1/namespaces/{namespace}/pods/{name}/exec; connectCoreV1PostNamespacedPodExec; PodExecOptions; connect POST requests to exec of Pod; " + exec,
	}
	for _, method := range []string{"delete", "get", "head", "options", "patch", "post", "put"} {
		about := "; NodeProxyOptions; connect " + strings.ToUpper(method) + " requests to proxy of Node; path name string,"
		wanted = append(wanted, method+"; /api/v1/nodes/{name}/proxy; connectCoreV1"+title(method)+"NodeProxy"+about+"query path string",
			method+"; /api/v1/nodes/{name}/proxy/{path}; connectCoreV1"+title(method)+"NodeProxyWithPath"+about+"path path string,query path string")
	}
	slices.Sort(wanted)
	assert.Equal(t, strings.Join(wanted, "\n"), strings.Join(lines, "\n"))
}
