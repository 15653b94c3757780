package v1

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kube2014/pkg/api/conversion"
)

// decoder decodes objects in protobuf.
var decoder = serializer.NewCodecFactory(Scheme).UniversalDeserializer()

func TestEachKindIsInListsAsTodaysClientsReadThem(t *testing.T) {
	t.Parallel()
	lists := 0
	for kind := range Scheme.AllKnownTypes() {
		object, err := Scheme.New(kind)
		require.NoError(t, err)
		listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
		if _, err := meta.Accessor(object); err != nil || !Scheme.Recognizes(listKind) {
			continue
		}
		lists++
		*metaOf(object) = metav1.ObjectMeta{Name: strings.Repeat("n", 200), Labels: map[string]string{"a": "b"}}
		message, err := EncodeMessage(object)
		require.NoError(t, err)
		want, err := metaOf(object).Marshal()
		require.NoError(t, err)
		require.Equal(t, append(appendField(nil, 1, len(want)), want...), FirstField(message), "%s begins with its metadata", kind)

		meta := ListMeta{Version: 7, Continue: "c", Remaining: 3}
		list, err := EncodeMessages(listKind, meta, 2, func(parts *conversion.Parts, _ int) error {
			parts.Add(message[:3])
			parts.Add(message[3:])
			return nil
		})
		require.NoError(t, err)
		assert.Len(t, list.Bytes(), list.Size)
		got := decode(t, listKind, list.Bytes())
		items := reflect.ValueOf(got).Elem().FieldByName("Items")
		require.Equal(t, 2, items.Len(), kind)
		assert.Equal(t, object, items.Index(1).Addr().Interface())
		assert.Equal(t, meta.ToV1(), reflect.ValueOf(got).Elem().FieldByName("ListMeta").Interface())
	}
	assert.Greater(t, lists, 50)
}

func decode(t *testing.T, want schema.GroupVersionKind, text []byte) runtime.Object {
	t.Helper()
	object, kind, err := decoder.Decode(text, nil, nil)
	require.NoError(t, err)
	require.Equal(t, want, *kind)
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object
}

func TestAnItemInProtobufMayBeContinued(t *testing.T) {
	t.Parallel()
	codec := codecOf("Pod")
	stored, err := codec.ToInternal(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "y"}}, Spec: corev1.PodSpec{NodeName: "n"}})
	require.NoError(t, err)
	item, err := Protobuf{codec}.EncodeItem(stored)
	require.NoError(t, err)
	want, err := codec.ToVersioned(stored)
	require.NoError(t, err)
	assert.Equal(t, want, decode(t, codec.Kind, EncodeProtobuf(codec.Envelope, partsOf(item)).Bytes()))

	entry, err := (&metav1.ManagedFieldsEntry{Manager: "m"}).Marshal()
	require.NoError(t, err)
	managed := append([]byte{17<<3&0x7f | 2 | 0x80, 17 >> 4, byte(len(entry))}, entry...)
	more := append(appendField(nil, 1, len(managed)), managed...)
	merged := decode(t, codec.Kind, EncodeProtobuf(codec.Envelope, partsOf(item, more)).Bytes())
	assert.Equal(t, "m", metaOf(merged).ManagedFields[0].Manager)
	metaOf(merged).ManagedFields = nil
	assert.Equal(t, want, merged)
}

func TestAnEventInProtobufIsThatOfTodaysClients(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 20_000} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", size)}}
		message, err := pod.Marshal()
		require.NoError(t, err)
		kind := corev1.SchemeGroupVersion.WithKind("Pod")
		head, tail := AppendEvent(nil, "ADDED", EnvelopeOf(kind), len(message))
		want := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: EncodeProtobuf(EnvelopeOf(kind), partsOf(message)).Bytes()}}
		text, err := want.Marshal()
		require.NoError(t, err)
		assert.Equal(t, string(text), string(head)+string(message)+string(tail))
	}
}

func TestAnObjectWithoutATypeHasNoFormInProtobuf(t *testing.T) {
	t.Parallel()
	_, err := EncodeMessage(&metav1.Table{})
	assert.EqualError(t, err, "*v1.Table has no form in protobuf")
	assert.Nil(t, FirstField(nil))
}

func partsOf(parts ...[]byte) *conversion.Parts { return &conversion.Parts{All: parts} }
