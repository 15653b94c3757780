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
	} {
		assert.Equal(t, kind, row.object.GetKind())
		assert.Equal(t, "web", row.object.GetID(), kind)
		assert.Equal(t, row.labels, row.object.GetLabels(), kind)
		assert.Equal(t, meta, *row.object.Meta(), kind)

		row.object.Meta().ResourceVersion = 7
		assert.EqualValues(t, 7, row.object.Meta().ResourceVersion, "Meta of %s is not a copy", kind)
	}
}

func TestAnEmptyObjectHasAKindButNoMetadata(t *testing.T) {
	t.Parallel()
	for _, object := range []Object{&Task{}, &ReplicationController{}, &Service{}, &Endpoints{}} {
		assert.NotEmpty(t, object.GetKind())
		assert.Empty(t, object.GetID())
		assert.Nil(t, object.GetLabels())
		assert.Equal(t, ObjectMeta{}, *object.Meta())
	}
}
