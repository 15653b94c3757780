package v1

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
)

var managed = []metav1.ManagedFieldsEntry{
	{Manager: "a \"<ä>\" b", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: fieldsV1, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
		Time: &metav1.Time{Time: time.Date(2014, 6, 6, 23, 40, 48, 0, time.UTC)}, Subresource: "status"},
	{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: fieldsV1, FieldsV1: metav1.NewFieldsV1(`{}`)},
}

// The JSON and the message are written by hand, and read by the types.
func TestManagedFieldsComeBack(t *testing.T) {
	t.Parallel()
	for _, wanted := range [][]metav1.ManagedFieldsEntry{nil, {}, managed, managed[1:]} {
		object, err := NewConverter(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", Scheme).ToInternal(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", ManagedFields: wanted}})
		require.NoError(t, err)
		assert.Equal(t, wanted, ManagedFields(object))
		if len(wanted) == 0 {
			assert.Empty(t, AppendManagedFieldsJSON(nil, object))
			continue
		}
		var fromJSON, fromMessage metav1.PartialObjectMetadata
		text, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: wanted}})
		require.NoError(t, err)
		own := `{"metadata":{"name":"x"` + string(AppendManagedFieldsJSON(nil, object)) + `}}`
		assert.Equal(t, string(text), `{"metadata":{`+own[len(`{"metadata":{"name":"x",`):])
		require.NoError(t, json.Unmarshal([]byte(own), &fromJSON))
		require.NoError(t, fromMessage.Unmarshal(AppendManagedFieldsMessage(nil, object)))
		for _, got := range []metav1.PartialObjectMetadata{fromJSON, fromMessage} {
			for i := range got.ManagedFields {
				if at := got.ManagedFields[i].Time; at != nil {
					at.Time = at.UTC()
				}
			}
			assert.Equal(t, wanted, got.ManagedFields)
		}
	}
}

func TestObjectsWithTheSameManagersShareThem(t *testing.T) {
	t.Parallel()
	one, other := inManagedFields(managed), inManagedFields(managed)
	other[0].Time++
	assert.True(t, one.Same(other), "whenever they have changed them")
	assert.Equal(t, one[1].Of, other[1].Of)
	other[1].Of = &api.Manager{Name: "another"}
	assert.False(t, one.Same(other))
	assert.False(t, one.Same(one[:1]))
}
