package flowcontrol_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/storage"
)

const aSchema = `{"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"later"}}}`

func TestTheServerHasWhatTheStoreHas(t *testing.T) {
	t.Parallel()
	d, b := open(t)
	followed := flowcontrol.NewFollowed(b.Objects)
	require.NoError(t, followed.Load())
	assert.Empty(t, followed.Get().Schemas)
	require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
	built := followed.Get()
	assert.Len(t, built.Schemas, 11)
	assert.Len(t, built.Levels, 8)
	d.Must("POST", flows, aSchema)
	now := followed.Get()
	assert.Len(t, now.Schemas, 12, "own changes are there at once")
	assert.Same(t, now, followed.Get())
	assert.Len(t, built.Schemas, 11, "what was read does not change")

	_, err := storage.CommitOne(b.Objects, storage.Create(&api.Any{Kind: "flowschemas", ID: "broken", ObjectMeta: api.ObjectMeta{Remainder: api.Remainder(`{"spec":"?"}`)}}))
	require.NoError(t, err)
	assert.Len(t, followed.Get().Schemas, 12, "what cannot be read is not used")
}

func TestAFlowSchemaIsToldAtOnceWhetherItsLevelExists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, b := open(t)
		go flowcontrol.TellDangling(t.Context(), b)
		told := func() flowcontrolv1.FlowSchemaCondition {
			synctest.Wait()
			var flow flowcontrolv1.FlowSchema
			d.Must("GET", flows+"/a", "").Into(&flow)
			require.Len(t, flow.Status.Conditions, 1)
			return flow.Status.Conditions[0]
		}
		d.Must("POST", flows, aSchema)
		assert.Equal(t, flowcontrolv1.ConditionTrue, told().Status)
		d.Must("POST", levels, `{"metadata":{"name":"later"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}`)
		assert.Equal(t, flowcontrolv1.ConditionFalse, told().Status)
		assert.Equal(t, `This FlowSchema references the PriorityLevelConfiguration object named "later" and it exists`, told().Message)
		d.Must("DELETE", levels+"/later", "")
		assert.Equal(t, flowcontrolv1.ConditionTrue, told().Status)
	})
}

// What each request costs although nothing has changed.
func BenchmarkObjects(b *testing.B) {
	base := baseOf()
	require.NoError(b, flowcontrol.Bootstrap(b.Context(), base))
	followed := flowcontrol.NewFollowed(base.Objects)
	for b.Loop() {
		followed.Get()
	}
}
