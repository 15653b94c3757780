package generic_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/admission"
	. "kube2014/pkg/endpoints/endpointstest"
)

// meddler is a plugin that changes the object itself when it is asked about a change of it.
type meddler func(operation admission.Operation)

func (meddler) Handles(operation admission.Operation) bool { return operation != admission.Create }

func (m meddler) Validate(_ context.Context, a *admission.Attributes) error {
	m(a.Operation)
	return nil
}

func TestAPluginMayChangeTheObjectAboutWhichItIsAsked(t *testing.T) {
	t.Parallel()
	for verb, ask := range map[string]func(door *Door) Answer{
		"PATCH":  func(door *Door) Answer { return door.Patch(Pods+"/x", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`) },
		"DELETE": func(door *Door) Answer { return door.Do("DELETE", Pods+"/x?gracePeriodSeconds=0", "") },
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				door := Open(t)
				door.Must("POST", Pods, Pod("x", ""))
				inside, asked := false, 0
				var plugins admission.Plugins
				plugins.Register("Meddler", func(json.RawMessage) (admission.Interface, error) {
					return meddler(func(admission.Operation) {
						if inside {
							return
						}
						inside = true
						asked++
						assert.Equal(t, 200, door.Patch(Pods+"/x", MergePatch, `{"metadata":{"annotations":{"noted":"yes"}}}`).Status)
						inside = false
					}), nil
				})
				chain, err := plugins.New([]string{"Meddler"}, nil)
				require.NoError(t, err)
				door.Admission = chain
				began := time.Now()
				answer := ask(door)
				assert.Equal(t, 200, answer.Status)
				assert.Equal(t, 2, asked, "of what it has changed it is asked again")
				assert.Zero(t, time.Since(began), "nobody has waited")
				if verb == "PATCH" {
					assert.Equal(t, map[string]string{"noted": "yes"}, answer.Meta().Annotations)
					assert.Equal(t, map[string]string{"a": "b"}, answer.Meta().Labels)
				}
			})
		})
	}
}
