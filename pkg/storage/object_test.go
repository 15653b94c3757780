package storage

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
)

// codecs are those of one scheme that indent differently.
func codecs() map[string]*conversion.Codec {
	scheme := conversion.NewScheme()
	v1beta1.AddToScheme(scheme)
	return map[string]*conversion.Codec{
		"v1beta1":       v1beta1.Codec,
		"with tabs":     conversion.NewCodec(scheme, v1beta1.Version, "\t"),
		"with a blank":  conversion.NewCodec(scheme, v1beta1.Version, " "),
		"not indented":  conversion.NewCodec(scheme, v1beta1.Version, ""),
		"v1beta1 again": conversion.NewCodec(scheme, v1beta1.Version, "    "),
	}
}

// strangeObjects are objects of each kind, some of whose JSON is unusual.
func strangeObjects() map[api.Kind][]api.Object {
	deep := interface{}("bottom")
	for range 40 {
		deep = []interface{}{map[string]interface{}{"below": deep, "empty": map[string]interface{}{}, "none": []interface{}{}}}
	}
	odd := map[string]string{
		"a\nb\u2028<&>": "  \n    \x00\x7f\ufffd", "\",\n        \"": "]\n}", "\xff": "\r\n\t", "long": strings.Repeat("x", 70000), "": "",
	}
	base := func(i int) api.JSONBase { return api.JSONBase{ID: fmt.Sprint("x", i)} }
	nested := makeTask("nested", nil)
	nested.DesiredState.Info, nested.CurrentState.Info = deep, []interface{}{"a\n        b", 1.5e300, nil, true, "<&>"}
	template := api.TaskTemplate{DesiredState: nested.DesiredState, Labels: odd}
	return map[api.Kind][]api.Object{
		api.TaskKind: {&api.Task{}, makeTask("web", map[string]string{"name": "web"}, 80, 81), makeTask("odd", odd), nested,
			&api.Task{JSONBase: api.JSONBase{Kind: "k", ID: "all", CreationTimestamp: "t", SelfLink: "s"}, Labels: map[string]string{}}},
		api.ControllerKind: {&api.ReplicationController{}, &api.ReplicationController{JSONBase: base(1), Labels: odd},
			&api.ReplicationController{JSONBase: base(2), DesiredState: api.ReplicationControllerState{Replicas: -1, ReplicasInSet: odd, TaskTemplate: template}}},
		api.ServiceKind:   {&api.Service{}, &api.Service{JSONBase: base(1), Port: 80}, &api.Service{JSONBase: base(2), Labels: odd}},
		api.EndpointsKind: {&api.Endpoints{}, &api.Endpoints{Name: "x", Endpoints: []string{}}, &api.Endpoints{Name: "\n", Endpoints: []string{"m1:80", "\n        ]"}}},
	}
}

// listOf returns the api's list of objects, which the codec encodes by itself.
func listOf(kind api.Kind, objects []api.Object) interface{} {
	switch list := api.EmptyList(kind).(type) {
	case api.TaskList:
		for _, object := range objects {
			list.Items = append(list.Items, *object.(*api.Task))
		}
		return list
	case api.ReplicationControllerList:
		for _, object := range objects {
			list.Items = append(list.Items, *object.(*api.ReplicationController))
		}
		return list
	case api.ServiceList:
		for _, object := range objects {
			list.Items = append(list.Items, *object.(*api.Service))
		}
		return list
	}
	return nil
}

// requireSameJSON requires that an object of this package is encoded as the codec
// encodes an object of the api, and that the size is right.
func requireSameJSON(t *testing.T, codec *conversion.Codec, want, object interface{}) {
	expected, err := codec.Encode(want)
	require.NoError(t, err)
	got, err := codec.Encode(object)
	require.NoError(t, err)
	require.Equal(t, string(expected.Bytes()), string(got.Bytes()))
	require.Equal(t, len(expected.Bytes()), got.Size)
	require.True(t, json.Valid(got.Bytes()))
}

func TestWhatIsKeptIsEncodedAsTheCodecEncodesIt(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		for kind, objects := range strangeObjects() {
			t.Run(fmt.Sprint(name, ", ", kind), func(t *testing.T) {
				t.Parallel()
				var kept []*Object
				for i, object := range objects {
					kept = append(kept, NewObject(object, uint64(i+1), 1))
					requireSameJSON(t, codec, object, kept[i])
				}
				if kind == api.EndpointsKind {
					return // there is no list of endpoints
				}
				for from := range len(kept) + 1 {
					for to := from; to <= len(kept); to++ {
						requireSameJSON(t, codec, listOf(kind, objects[from:to]), &List{Kind: kind, Items: kept[from:to]})
					}
				}
			})
		}
	}
}

func TestAListThatIsSentInPiecesIsWhole(t *testing.T) {
	t.Parallel()
	var objects []api.Object
	list := &List{Kind: api.ServiceKind}
	for i := range 1500 {
		object := &api.Service{JSONBase: api.JSONBase{ID: fmt.Sprint("x", i)}, Labels: map[string]string{"name": strings.Repeat("x", i)}}
		objects, list.Items = append(objects, object), append(list.Items, NewObject(object, 1, 1))
	}
	requireSameJSON(t, v1beta1.Codec, listOf(api.ServiceKind, objects), list)
	encoded, err := list.EncodedBy(v1beta1.Codec)
	require.NoError(t, err)
	pieces := 0
	for range encoded.Pieces {
		if pieces++; pieces == 2 {
			break // the receiver is gone
		}
	}
	assert.Equal(t, 2, pieces)
}

func TestATextIsMadeOncePerCodec(t *testing.T) {
	t.Parallel()
	object := NewObject(makeTask("x", map[string]string{"name": "web"}), 1, 1)
	first := map[*conversion.Codec]*byte{}
	var mu sync.Mutex // guards first
	var group sync.WaitGroup
	codecs := codecs()
	for _, codec := range codecs {
		for range 8 {
			group.Go(func() {
				for range 20 {
					item, err := object.Item(codec)
					if !assert.NoError(t, err) {
						return
					}
					mu.Lock()
					if first[codec] == nil {
						first[codec] = &item[0]
					}
					assert.Same(t, first[codec], &item[0])
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	assert.Len(t, first, len(codecs))
	kept := 0
	for text := object.texts.Load(); text != nil; text = text.next {
		kept++
		want, err := text.of.(*conversion.Codec).EncodeItem(object.Object)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(text.encoded.Load().item))
	}
	assert.Equal(t, len(codecs), kept)
}

// counted counts how often objects are encoded, and waits each time until all who want the
// JSON have asked for it.
type counted struct {
	encoded atomic.Int64
	asked   sync.WaitGroup
}

func (c *counted) EncodeItem(interface{}) ([]byte, error) {
	c.encoded.Add(1)
	c.asked.Wait()
	return []byte("{}"), nil
}

func (c *counted) Identity() any { return c }

func TestAnObjectKeepsFewTexts(t *testing.T) {
	t.Parallel()
	object := NewObject(makeTask("x", nil), 1, 1)
	for range 10 * maxTexts {
		_, err := object.Item(&counted{})
		require.NoError(t, err)
		kept := 0
		for text := object.texts.Load(); text != nil; text = text.next {
			kept++
		}
		require.LessOrEqual(t, kept, maxTexts+1)
	}
}

func TestTheJSONThatManyAskForAtOnceIsMadeOnce(t *testing.T) {
	t.Parallel()
	object, codec := NewObject(makeTask("x", nil), 1, 1), &counted{}
	var group sync.WaitGroup
	codec.asked.Add(8)
	for range 8 {
		group.Go(func() {
			codec.asked.Done()
			item, err := object.Item(codec)
			assert.NoError(t, err)
			assert.Equal(t, "{}", string(item))
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, codec.encoded.Load())
}

func TestAnEncoderThatPanicsLeavesAnError(t *testing.T) {
	t.Parallel()
	object := NewObject(makeTask("x", nil), 1, 1)
	broken := &broken{}
	assert.Panics(t, func() { _, _ = object.Item(broken) })
	_, err := object.Item(broken)
	assert.Equal(t, errNotEncoded, err)
}

type broken struct{ _ int }

func (*broken) EncodeItem(interface{}) ([]byte, error) { panic("broken") }
func (b *broken) Identity() any                        { return b }

func TestWhatHasNoJSONIsAnInternalError(t *testing.T) {
	t.Parallel()
	task := makeTask("x", nil)
	task.DesiredState.Info = make(chan int)
	object := NewObject(task, 1, 1)
	for range 2 {
		_, err := v1beta1.Codec.Encode(object)
		assert.Equal(t, api.Internal, api.KindOf(err))
		_, err = v1beta1.Codec.Encode(&List{Kind: api.TaskKind, Items: []*Object{NewObject(makeTask("a", nil), 1, 1), object}})
		assert.Equal(t, api.Internal, api.KindOf(err))
	}
	assert.Zero(t, object.texts.Load().encoded.Load().size.Load())
}
