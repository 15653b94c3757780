package values

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

func base(id string) api.JSONBase { return api.JSONBase{ID: id} }

// full is metadata of which everything is to be stored but the versions.
func full() api.ObjectMeta {
	return api.ObjectMeta{
		ResourceVersion: 7, CreationVersion: 6, UID: "u", CreationTime: time.Date(2014, 6, 6, 12, 0, 0, 5000, time.UTC),
		Annotations: map[string]string{"a": "<b>"}, Remainder: `{"spec":{"tls":"<&>"}}`,
	}
}

// inDefault is metadata of an object in the namespace default.
func inDefault(meta api.ObjectMeta) api.ObjectMeta {
	meta.Namespace = api.NamespaceDefault
	return meta
}

const (
	fullText = `"uid":"u","creationTimestamp":"2014-06-06T12:00:00.000005Z","annotations":{"a":"<b>"}`
	restText = `"remainder":{"spec":{"tls":"<&>"}}`
	manifest = `"manifest":{"version":"","volumes":null,"containers":null}`
)

func TestAnObjectIsStoredAsJune2014DidAndTheRestAtItsEnd(t *testing.T) {
	t.Parallel()
	on := api.TaskState{Host: "m", Status: "s"}
	labels := map[string]string{"name": "web"}
	second := api.ObjectMeta{CreationTime: time.Date(2014, 6, 6, 14, 0, 0, 0, time.FixedZone("", 2*60*60)), Remainder: " [ 1,\n2 ] "}
	for name, row := range map[string]struct {
		object api.Object
		text   string
	}{
		"a task":                       {&api.Task{JSONBase: base("x"), CurrentState: on, Labels: labels}, `{"id":"x","labels":{"name":"web"},"desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s"}}`},
		"a task of which more is said": {&api.Task{JSONBase: base("x"), ObjectMeta: full(), CurrentState: on}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s"},"v1":{` + fullText + `,` + restText + `}}`},
		"a pod":                        {&api.Task{JSONBase: base("x"), CurrentState: on, IsPod: true}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s","host":"m"}}`},
		"a pod of which more is said":  {&api.Task{JSONBase: base("x"), ObjectMeta: full(), IsPod: true}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `},"v1":{` + fullText + `,` + restText + `}}`},
		"a controller":                 {&api.ReplicationController{JSONBase: base("x")}, `{"id":"x","desiredState":{"replicas":0,"taskTemplate":{"desiredState":{` + manifest + `}}}}`},
		"a controller of which more is said": {&api.ReplicationController{JSONBase: base("x"), ObjectMeta: full()},
			`{"id":"x","desiredState":{"replicas":0,"taskTemplate":{"desiredState":{` + manifest + `}}},"v1":{` + fullText + `,` + restText + `}}`},
		"a service":                       {&api.Service{JSONBase: base("x"), Port: 80, Labels: labels}, `{"id":"x","port":80,"labels":{"name":"web"}}`},
		"a service without anything":      {&api.Service{}, `{}`},
		"only more is said":               {&api.Service{SelectsNothing: true}, `{"v1":{"selectsNothing":true}}`},
		"a service of which more is said": {&api.Service{JSONBase: base("x"), ObjectMeta: full(), SelectsNothing: true}, `{"id":"x","v1":{` + fullText + `,"selectsNothing":true,` + restText + `}}`},
		"endpoints":                       {&api.Endpoints{Name: "x", Endpoints: []string{"m:80"}}, `{"Name":"x","Endpoints":["m:80"]}`},
		"endpoints of pods": {&api.Endpoints{Name: "x", Endpoints: []string{"m:80", "m:81"}, Targets: []api.Target{{TaskID: "a", UID: "u"}, {TaskID: "b"}}},
			`{"Name":"x","Endpoints":["m:80","m:81"],"v1":{"targets":[{"task":"a","uid":"u"},{"task":"b"}]}}`},
		"endpoints of somebody else":    {&api.Endpoints{Name: "x", Endpoints: []string{}, Managed: true}, `{"Name":"x","Endpoints":[],"v1":{"managed":true}}`},
		"a node":                        {&api.Any{Kind: api.NodeKind, ID: "x", Labels: labels}, `{"id":"x","labels":{"name":"web"}}`},
		"a node of which more is said":  {&api.Any{Kind: api.NodeKind, ID: "x", ObjectMeta: full()}, `{"id":"x","v1":{` + fullText + `,` + restText + `}}`},
		"an event":                      {&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default"}}, `{"id":"x"}`},
		"an event without anything":     {&api.Any{Kind: "events", ObjectMeta: api.ObjectMeta{Namespace: "default", UID: "u"}}, `{"v1":{"uid":"u"}}`},
		"a role":                        {&api.Any{Kind: "roles", ID: "a:b", ObjectMeta: inDefault(full()), Labels: labels}, `{"id":"a:b","labels":{"name":"web"},"v1":{` + fullText + `,` + restText + `}}`},
		"a role binding":                {&api.Any{Kind: "rolebindings", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default"}}, `{"id":"x"}`},
		"a cluster role":                {&api.Any{Kind: "clusterroles", ID: "x"}, `{"id":"x"}`},
		"a cluster role binding":        {&api.Any{Kind: "clusterrolebindings", ID: "x"}, `{"id":"x"}`},
		"a quota":                       {&api.Any{Kind: "quotas", ID: "pods", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: `[{"id":"x"}]`}}, `{"id":"pods","v1":{"remainder":[{"id":"x"}]}}`},
		"a time, and a remainder":       {&api.Any{Kind: "events", ID: "x", ObjectMeta: second}, `{"id":"x","v1":{"creationTimestamp":"2014-06-06T12:00:00Z","remainder":[1,2]}}`},
		"a member of that name is none": {&api.Service{JSONBase: base("x"), Labels: map[string]string{"v1": "v1"}}, `{"id":"x","labels":{"v1":"v1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Encode(row.object)
			require.NoError(t, err)
			assert.Equal(t, row.text, text)
			again := empty(row.object)
			require.NoError(t, Decode(text, again))

			meta := row.object.Meta()
			meta.ResourceVersion, meta.CreationVersion = 0, 0 // the store knows them
			meta.CreationTime = meta.CreationTime.UTC()
			if meta.Remainder == second.Remainder {
				meta.Remainder = "[1,2]"
			}
			if task, ok := row.object.(*api.Task); ok && !task.IsPod {
				task.CurrentState.Host = "" // the key says it
			}
			assert.Equal(t, row.object, again)
		})
	}
}

// empty returns an empty object of the same key, as Decode wants it.
func empty(object api.Object) api.Object {
	other := New(object.Key())
	if task, ok := object.(*api.Task); ok {
		other.(*api.Task).IsPod = task.IsPod
	}
	return other
}

func TestWhatAnotherProgramHasMadeOfAnObject(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want api.Service
	}{
		"it has written its own members":     {`{"id":"x","kind2":[1],"v2":{}}`, api.Service{JSONBase: base("x")}},
		"it has set the last member to null": {`{"id":"x","v1":null}`, api.Service{JSONBase: base("x")}},
		"it has emptied the last member":     {`{"id":"x","v1":{}}`, api.Service{JSONBase: base("x")}},
		"it has moved and indented it":       {"{\n \"v1\" : {\"uid\": \"u\", \"new\": 7},\n \"id\": \"x\"}", api.Service{JSONBase: base("x"), ObjectMeta: api.ObjectMeta{UID: "u"}}},
	} {
		got := New(row.want.Key())
		require.NoError(t, Decode(row.text, got), name)
		assert.Equal(t, &row.want, got, name)
	}
}

func TestATextThatIsNoObjectIsAnError(t *testing.T) {
	t.Parallel()
	objects := []api.Object{&api.Task{}, &api.Task{IsPod: true}, &api.ReplicationController{}, &api.Service{}, &api.Endpoints{}, &api.Any{Kind: api.NodeKind}, &api.Any{Kind: "events", ObjectMeta: api.ObjectMeta{Namespace: "default"}}, &api.Any{Kind: "roles"}}
	for name, text := range map[string]string{
		"no JSON":                            "<html>",
		"nothing":                            "",
		"a number":                           "7",
		"a last member of another type":      `{"v1":7}`,
		"annotations of another type":        `{"v1":{"annotations":{"a":1}}}`,
		"no time":                            `{"v1":{"creationTimestamp":"noon"}}`,
		"a time before the year 0 in UTC":    `{"v1":{"creationTimestamp":"0000-01-01T00:00:00+01:00"}}`,
		"a remainder that is too deep (D33)": `{"v1":{"remainder":` + strings.Repeat("[", 2000) + "1" + strings.Repeat(",1", 18000) + strings.Repeat("]", 2000) + "}}",
		"more after the end":                 `{"v1":{"remainder":1}}}`,
	} {
		for _, object := range objects {
			assert.Error(t, Decode(text, empty(object)), "%s: a %s", name, object.Key().Kind)
		}
	}
}

func TestWhatCannotBeReadAgainIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]api.ObjectMeta{
		"a remainder that is no JSON": {Remainder: "{"},
		"two remainders":              {Remainder: "1 2"},
		"a year of five digits":       {CreationTime: time.Date(12014, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := Encode(&api.Any{Kind: api.NodeKind, ID: "x", ObjectMeta: meta})
		assert.Equal(t, api.Internal, api.KindOf(err), name)
	}
	unknown := struct{ api.Service }{}
	_, err := Encode(&unknown)
	assert.Equal(t, api.Internal, api.KindOf(err), "a type that nobody has registered")
	assert.Error(t, errors.Unwrap(err))
}
