package flowcontrol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

const (
	flows  = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
	levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
)

func baseOf() rest.Base {
	return rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
}

func open(t *testing.T) (*Door, rest.Base) {
	b := baseOf()
	return OpenWith(t, flowcontrol.Resources(b)...), b
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	d, _ := open(t)
	d.Replay(t, "testdata/recorded.jsonl")
}

func TestBuiltInObjectsAreMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	d, b := open(t)
	bootstrap := func() { require.NoError(t, flowcontrol.Bootstrap(t.Context(), b)) }
	bootstrap()
	names, before := d.Must("GET", flows, "").Names()
	assert.Len(t, names, 11)
	names, _ = d.Must("GET", levels, "").Names()
	assert.Len(t, names, 8)
	bootstrap()
	_, after := d.Must("GET", flows, "").Names()
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "nothing is written again")

	d.Must("DELETE", flows+"/catch-all", "")
	d.Must("DELETE", levels+"/system", "")
	bootstrap()
	d.Must("GET", flows+"/catch-all", "")
	d.Must("GET", levels+"/system", "")
}

func TestASuggestedObjectIsRestoredIfItsAnnotationSaysSo(t *testing.T) {
	t.Parallel()
	for annotation, shares := range map[string]int32{`"true"`: 30, `"false"`: 7, `null`: 7} {
		d, b := open(t)
		require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
		require.Equal(t, 200, d.Patch(levels+"/system", MergePatch, `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":`+annotation+`}},"spec":{"limited":{"nominalConcurrencyShares":7}}}`).Status)
		require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
		var level flowcontrolv1.PriorityLevelConfiguration
		d.Must("GET", levels+"/system", "").Into(&level)
		assert.Equal(t, shares, *level.Spec.Limited.NominalConcurrencyShares, annotation)
		assert.NotEmpty(t, level.Annotations["apf.kubernetes.io/autoupdate-spec"], "the decision is written down")
	}
}

func TestOnlyTheSharesOfTheExemptLevelMayChange(t *testing.T) {
	t.Parallel()
	d, b := open(t)
	require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
	require.Equal(t, 200, d.Patch(levels+"/exempt", MergePatch, `{"spec":{"exempt":{"lendablePercent":50}}}`).Status)
	assert.Equal(t, 422, d.Patch(levels+"/catch-all", MergePatch, `{"spec":{"limited":{"nominalConcurrencyShares":7}}}`).Status)
	assert.Equal(t, 422, d.Patch(flows+"/exempt", MergePatch, `{"spec":{"matchingPrecedence":2}}`).Status)
	require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
	var level flowcontrolv1.PriorityLevelConfiguration
	d.Must("GET", levels+"/exempt", "").Into(&level)
	assert.EqualValues(t, 50, *level.Spec.Exempt.LendablePercent)
}

func TestAFlowSchemaTellsWhetherItsLevelExists(t *testing.T) {
	t.Parallel()
	d, b := open(t)
	d.Must("POST", flows, `{"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"later"}}}`)
	told := func() flowcontrolv1.ConditionStatus {
		require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
		var flow flowcontrolv1.FlowSchema
		d.Must("GET", flows+"/a", "").Into(&flow)
		require.Len(t, flow.Status.Conditions, 1)
		return flow.Status.Conditions[0].Status
	}
	assert.Equal(t, flowcontrolv1.ConditionTrue, told())
	d.Must("POST", levels, `{"metadata":{"name":"later"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}`)
	assert.Equal(t, flowcontrolv1.ConditionFalse, told())
}

// What is written past the server has no defaults.
func TestABareObjectOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	d, b := open(t)
	for kind, path := range map[api.Kind]string{"flowschemas": flows, "prioritylevelconfigurations": levels} {
		_, err := storage.CommitOne(b.Objects, storage.Create(&api.Any{Kind: kind, ID: "exempt"}))
		require.NoError(t, err)
		assert.Equal(t, 200, d.Do("GET", path, "", "Accept", Table).Status)
		assert.Contains(t, []int{200, 422}, d.Patch(path+"/exempt", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
	}
	require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
	assert.Contains(t, d.Must("GET", levels+"/exempt", "").Text, `"type":"Exempt"`)
}
