package admissionregistration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/admissionregistration"
	"kube2014/pkg/storage/memory"
)

func open(t *testing.T, readers *admissionregistration.Readers) *Door {
	b := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	return OpenWith(t, admissionregistration.Resources(b, readers)...)
}

const group = "/apis/admissionregistration.k8s.io/v1"

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	open(t, nil).Replay(t, "testdata/recorded.jsonl")
}

func TestANameOfAnObjectInAFileIsWarnedOf(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	want := []string{`299 - "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and cannot be managed via the API"`}
	for name, spec := range map[string]string{
		"mutatingwebhookconfigurations": `{}`, "validatingwebhookconfigurations": `{}`,
		"mutatingadmissionpolicybindings": `{"policyName":"p"}`, "validatingadmissionpolicybindings": `{"policyName":"p","validationActions":["Deny"]}`,
	} {
		body := `{"metadata":{"name":"a.static.k8s.io"},"spec":` + spec + `}`
		if spec == `{}` {
			body = `{"metadata":{"name":"a.static.k8s.io"}}`
		}
		assert.Equal(t, want, d.Must("POST", group+"/"+name, body).Header["Warning"], name)
		assert.Equal(t, want, d.Must("PATCH", group+"/"+name+"/a.static.k8s.io", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", MergePatch).Header["Warning"], name)
	}
	assert.Empty(t, d.Must("POST", group+"/mutatingwebhookconfigurations", `{"metadata":{"name":"b"}}`).Header["Warning"])
}
