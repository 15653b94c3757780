package api

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnObjectTellsItsKindItsIDItsLabelsAndItsMetadata(t *testing.T) {
	t.Parallel()
	base, meta, labels := JSONBase{ID: "web"}, ObjectMeta{UID: "u"}, map[string]string{"name": "web"}
	for kind, row := range map[Kind]struct {
		object Object
		labels map[string]string
	}{
		"task":                   {&Task{JSONBase: base, ObjectMeta: meta, Labels: labels}, labels},
		"replication controller": {&ReplicationController{JSONBase: base, ObjectMeta: meta, Labels: labels}, labels},
		"service":                {&Service{JSONBase: base, ObjectMeta: meta, Labels: labels}, labels},
		"endpoints":              {&Endpoints{ObjectMeta: meta, Name: "web"}, nil},
		"node":                   {&Any{Kind: NodeKind, ID: "web", ObjectMeta: meta, Labels: labels}, labels},
	} {
		assert.Equal(t, DefaultKey(kind, "web"), row.object.Key())
		assert.Equal(t, row.labels, row.object.GetLabels(), kind)
		assert.Equal(t, meta, *row.object.Meta(), kind)

		row.object.SetLabels(map[string]string{"name": "db"})
		assert.Equal(t, len(row.labels) > 0, row.object.GetLabels()["name"] == "db", kind)

		row.object.Meta().ResourceVersion = 7
		assert.EqualValues(t, 7, row.object.Meta().ResourceVersion, "Meta of %s is not a copy", kind)
	}
}

func TestAnEmptyObjectHasAKindButNoMetadata(t *testing.T) {
	t.Parallel()
	for _, object := range []Object{&Task{}, &ReplicationController{}, &Service{}, &Endpoints{}, &Any{Kind: NodeKind}} {
		assert.NotEmpty(t, object.Key().Kind)
		assert.Empty(t, object.Key().ID)
		assert.Nil(t, object.GetLabels())
		assert.Equal(t, ObjectMeta{}, *object.Meta())
		assert.Nil(t, object.AppendClaims(nil))
	}
}

func TestAnObjectHasAUIDOfItsKindIDAndCreation(t *testing.T) {
	t.Parallel()
	uid := func(object Object, version, created uint64) string {
		object.Meta().ResourceVersion, object.Meta().CreationVersion = version, created
		return UIDOf(object)
	}
	base := uid(&Service{JSONBase: JSONBase{ID: "x"}}, 5, 5)
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, base)
	assert.Equal(t, base, uid(&Service{JSONBase: JSONBase{ID: "x"}, Port: 1}, 9, 5), "after an update")
	for name, other := range map[string]string{
		"of another creation": uid(&Service{JSONBase: JSONBase{ID: "x"}}, 5, 4),
		"of another id":       uid(&Service{JSONBase: JSONBase{ID: "y"}}, 5, 5),
		"of another kind":     uid(&Endpoints{Name: "x"}, 5, 5),
	} {
		assert.NotEqual(t, base, other, name)
	}
	assert.Equal(t, "own", uid(&Service{ObjectMeta: ObjectMeta{UID: "own"}}, 5, 5), "what an object has, it keeps")
}
