package api

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATaskInheritsWhatOnlyTheFirstDoorSays(t *testing.T) {
	t.Parallel()
	container := Container{Name: "main", Ports: []Port{{HostPort: 80}, {HostPort: math.MaxInt, Protocol: "UDP"}, {ContainerPort: 1}}}
	before := &Task{JSONBase: JSONBase{Kind: "k", ID: "web", CreationTimestamp: "c", SelfLink: "s"}, IsPod: true}
	before.DesiredState = TaskState{Manifest: ContainerManifest{Version: "v", Id: "i", Containers: []Container{container}}, Status: "s", Host: "h", Info: 1.0}
	before.CurrentState = TaskState{Manifest: ContainerManifest{Id: "c"}, Host: "machine-1", HostIP: "ip"}

	next := &Task{JSONBase: JSONBase{ID: "web"}, Labels: map[string]string{"a": "b"}}
	next.CurrentState.Host = "machine-2"
	next.DesiredState.Manifest = ContainerManifest{Version: "v1beta1", Containers: []Container{
		{Name: "main", Ports: []Port{{HostPort: 80, Protocol: "TCP"}, {HostPort: math.MaxInt32, Protocol: "TCP"}}}, {Name: "new"}}}
	next.Inherit(before)

	want := before.DeepCopy()
	want.Labels = map[string]string{"a": "b"}
	want.CurrentState.Host = "machine-2"
	want.DesiredState.Manifest.Containers = []Container{
		{Name: "main", Ports: []Port{{HostPort: 80}, {HostPort: math.MaxInt, Protocol: "TCP"}}}, {Name: "new"}}
	assert.Equal(t, &want, next)
	assert.Len(t, before.DesiredState.Manifest.Containers[0].Ports, 3, "the earlier one stays as it was")
}

func TestWhatIsEmptyStaysNullOrEmptyAsItWas(t *testing.T) {
	t.Parallel()
	for _, before := range []ContainerManifest{{}, {Volumes: []Volume{}, Containers: []Container{}}} {
		for _, now := range []ContainerManifest{{}, {Volumes: []Volume{}, Containers: []Container{}}} {
			next := TaskState{Manifest: now}.inherit(TaskState{Manifest: before})
			assert.Equal(t, before, next.Manifest)
		}
	}
	full := ContainerManifest{Volumes: []Volume{{"v"}}, Containers: []Container{{Name: "c"}}}
	assert.Equal(t, full, TaskState{Manifest: full}.inherit(TaskState{}).Manifest)
	assert.Equal(t, ContainerManifest{}, TaskState{}.inherit(TaskState{Manifest: full}).Manifest, "all are gone")
}

func TestAControllerInheritsWhatV1HasDefaulted(t *testing.T) {
	t.Parallel()
	web, other := map[string]string{"name": "web"}, map[string]string{"name": "other"}
	next := func(before, selector, labels map[string]string) ReplicationController {
		earlier := &ReplicationController{JSONBase: JSONBase{Kind: "k"}, Labels: before}
		earlier.DesiredState = ReplicationControllerState{Replicas: math.MaxInt, ReplicasInSet: before}
		controller := ReplicationController{Labels: labels}
		controller.DesiredState = ReplicationControllerState{Replicas: math.MaxInt32, ReplicasInSet: selector, TaskTemplate: TaskTemplate{Labels: web}}
		controller.Inherit(earlier)
		assert.Equal(t, earlier.JSONBase, controller.JSONBase)
		assert.Equal(t, math.MaxInt, controller.DesiredState.Replicas)
		return controller
	}
	for name, row := range map[string]struct{ before, now, want map[string]string }{
		"none, as before":            {nil, web, nil},
		"none, but empty":            {map[string]string{}, web, map[string]string{}},
		"others than the template's": {nil, other, other},
		"the same as before":         {web, web, web},
		"others before":              {other, web, web},
	} {
		controller := next(row.before, row.now, row.now)
		assert.Equal(t, row.want, controller.Labels, name)
		assert.Equal(t, row.want, controller.DesiredState.ReplicasInSet, name)
	}
}

func TestAServiceSelectsAllOrNothingAsBefore(t *testing.T) {
	t.Parallel()
	web := map[string]string{"name": "web"}
	for name, row := range map[string]struct{ before, now, want Service }{
		"all tasks":                  {Service{}, Service{SelectsNothing: true}, Service{}},
		"nothing":                    {Service{SelectsNothing: true}, Service{SelectsNothing: true}, Service{SelectsNothing: true}},
		"nothing any more":           {Service{Labels: web}, Service{SelectsNothing: true}, Service{SelectsNothing: true}},
		"some":                       {Service{SelectsNothing: true}, Service{Labels: web}, Service{Labels: web}},
		"a port that v1 cannot say":  {Service{Port: math.MaxInt}, Service{Port: math.MaxInt32}, Service{Port: math.MaxInt}},
		"another port":               {Service{Port: math.MaxInt}, Service{Port: 80}, Service{Port: 80}},
		"what June 2014 says of all": {Service{JSONBase: JSONBase{Kind: "k"}}, Service{}, Service{JSONBase: JSONBase{Kind: "k"}}},
	} {
		row.now.Inherit(&row.before)
		assert.Equal(t, row.want, row.now, name)
	}
}

func TestEndpointsKeepTheirOrderAndTheirTasks(t *testing.T) {
	t.Parallel()
	before := &Endpoints{Endpoints: []string{"b:080", "a:80", "junk"}, Targets: []Target{{"1", "u"}}}
	same := &Endpoints{Endpoints: []string{"a:80", "b:80"}}
	same.Inherit(before)
	assert.Equal(t, before, same)
	other := &Endpoints{Endpoints: []string{"a:80"}}
	other.Inherit(before)
	assert.Equal(t, &Endpoints{Endpoints: []string{"a:80"}}, other)
	none := &Endpoints{}
	none.Inherit(&Endpoints{Endpoints: []string{}})
	assert.Equal(t, []string{}, none.Endpoints)
}

func TestAnObjectThatJune2014DoesNotKnowInheritsNothing(t *testing.T) {
	t.Parallel()
	node := &Any{Kind: NodeKind}
	node.Inherit(&Any{Kind: NodeKind, Labels: map[string]string{"a": "b"}})
	assert.Equal(t, &Any{Kind: NodeKind}, node)
}

func TestAnAddressIsAHostAndAPort(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "host", "host:", "host:web", "host:-1", "host:65536", "a:b:80"} {
		_, _, ok := SplitAddress(address)
		assert.False(t, ok, address)
	}
	host, port, ok := SplitAddress("[::1]:65535")
	assert.Equal(t, []interface{}{"::1", uint16(65535), true}, []interface{}{host, port, ok})
}

func TestANumberIsCutTo32Bits(t *testing.T) {
	t.Parallel()
	for number, want := range map[int]int32{0: 0, -7: -7, math.MaxInt32: math.MaxInt32, math.MaxInt32 + 1: math.MaxInt32, math.MinInt: math.MinInt32} {
		assert.Equal(t, want, Int32(number))
	}
}
