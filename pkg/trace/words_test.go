package trace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

func TestAnObjectOfAnyTypeIsTold(t *testing.T) {
	t.Parallel()
	tasks := func(ids ...string) *storage.List {
		list := &storage.List{Kind: api.TaskKind}
		for _, id := range ids {
			list.Items = append(list.Items, &storage.Object{Object: &api.Task{JSONBase: api.JSONBase{ID: id}}})
		}
		return list
	}
	for _, told := range []struct {
		object interface{}
		want   string
	}{
		{nil, "nothing"},
		{&api.Task{}, "task without an id"},
		{&api.Service{JSONBase: api.JSONBase{ID: "s"}}, `service "s"`},
		{&api.Service{JSONBase: api.JSONBase{ID: "s"}, ObjectMeta: api.ObjectMeta{Namespace: "dev"}}, `service "dev/s"`},
		{&storage.List{Kind: api.ServiceKind, Items: []*storage.Object{{Object: &api.Service{JSONBase: api.JSONBase{ID: "s"}, ObjectMeta: api.ObjectMeta{Namespace: "dev"}}}}}, `1 service: "dev/s"`},
		{&api.ReplicationController{JSONBase: api.JSONBase{ID: "c"}}, `replication controller "c"`},
		{api.Task{JSONBase: api.JSONBase{ID: "t"}, CurrentState: api.TaskState{Host: "m"}}, `task "t" on m`},
		{&api.Any{Kind: api.NodeKind, ID: "n"}, `node "n"`},
		{&storage.List{Kind: api.ServiceKind}, "no services"},
		{tasks("a"), `1 task: "a"`},
		{tasks("a", "b", "c", "d", "e"), `5 tasks: "a", "b", "c", "d", …`},
		{&api.Endpoints{Name: "s"}, `endpoints "s"`},
		{1, "int"},
	} {
		assert.Equal(t, told.want, words(told.object))
	}
}
