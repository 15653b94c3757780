package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	. "kube2014/pkg/master/endpointstest"
)

func TestWhoWritesAnOddObjectIsWarned(t *testing.T) {
	t.Parallel()
	d := Open(t)
	const odd = `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80},{"containerPort":80}]}]}}`
	told := []string{`299 - "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"`}
	assert.Equal(t, told, d.Must("POST", Pods+"?dryRun=All", odd).Header["Warning"])
	assert.Equal(t, told, d.Must("POST", Pods, odd).Header["Warning"])
	assert.Empty(t, d.Patch(Pods+"/web", MergePatch, labelled).Header["Warning"], "programs change pods")
	const applied = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"applied"},"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"containers":[{"name":"c","image":"i"}]}}`
	told = []string{`299 - "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"`}
	assert.Equal(t, told, d.Patch(Pods+"/applied?fieldManager=x", "application/apply-patch+yaml", applied).Header["Warning"])

	d.Must("POST", Services, service)
	told = []string{`299 - "spec.externalIPs is deprecated and may no longer be implemented in some clusters"`}
	assert.Equal(t, told, d.Patch(Services+"/x?dryRun=All", MergePatch, `{"spec":{"externalIPs":["1.2.3.4"]}}`).Header["Warning"])
	assert.Equal(t, told, d.Patch(Services+"/x", MergePatch, `{"spec":{"externalIPs":["1.2.3.4"]}}`).Header["Warning"])

	noPair := `{"metadata":{"name":"x"},"type":"kubernetes.io/tls","data":{"tls.crt":"","tls.key":""}}`
	assert.Equal(t, []string{`299 - "tls: failed to find any PEM data in certificate input"`}, d.Must("POST", "/api/v1/namespaces/default/secrets", noPair).Header["Warning"])
}

func TestWhoScalesAControllerIsWarnedOfItsTemplate(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Controllers, controller)
	d.Patch(Controllers+"/x", MergePatch, `{"spec":{"template":{"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"}}}}}`)
	told := []string{`299 - "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"`}
	assert.Equal(t, told, d.Patch(Controllers+"/x/scale", MergePatch, `{"spec":{"replicas":3}}`).Header["Warning"])
	assert.Empty(t, d.Patch(Controllers+"/x/scale", MergePatch, `{"spec":{"replicas":3}}`).Header["Warning"], "nothing changes")
	assert.Empty(t, d.Patch(Controllers+"/x/status", MergePatch, `{"status":{"replicas":3}}`).Header["Warning"])
}
