//go:build today

package typed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	v1 "kube2014/pkg/api/v1"
)

// TestAnObjectHasTheFieldsThatClientsTakeItToHave compares with the schemas in client-go, which are made of those of
// the real server.
func TestAnObjectHasTheFieldsThatClientsTakeItToHave(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(v1.Scheme)
	kinds := 0
	for kind, of := range v1.Scheme.AllKnownTypes() {
		empty, err := v1.Scheme.New(kind)
		require.NoError(t, err)
		if _, err := theirs(converter, kind, empty); err != nil {
			continue // client-go does not know it
		}
		kinds++
		t.Run(kind.String(), func(t *testing.T) {
			for seed := range int64(8) {
				filler := newFiller(seed)
				var ours, client [2]*typed.TypedValue
				for i := range ours {
					object, err := v1.Scheme.New(kind)
					require.NoError(t, err)
					filler.Fill(object)
					object.GetObjectKind().SetGroupVersionKind(kind)
					client[i], err = theirs(converter, kind, object)
					if err == nil {
						ours[i], err = Of(of).FromStructured(object, typed.AllowDuplicates)
					}
					require.NoError(t, err)
					requireSameFields(t, client[i], ours[i])
				}
				want, err := client[0].Compare(client[1])
				require.NoError(t, err)
				got, err := ours[0].Compare(ours[1])
				require.NoError(t, err)
				require.Equal(t, want.String(), got.String())
				merged, wantErr := client[0].Merge(client[1])
				own, err := ours[0].Merge(ours[1])
				require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err))
				if err == nil {
					require.Equal(t, merged.AsValue().Unstructured(), own.AsValue().Unstructured())
				}
			}
		})
	}
	require.Greater(t, kinds, 60)
	t.Log(kinds, "kinds")
}

func theirs(converter interface {
	ObjectToTyped(runtime.Object, ...typed.ValidationOptions) (*typed.TypedValue, error)
}, kind schema.GroupVersionKind, object runtime.Object) (*typed.TypedValue, error) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	return converter.ObjectToTyped(object, typed.AllowDuplicates)
}

func requireSameFields(t *testing.T, want, got *typed.TypedValue) {
	expected, err := want.ToFieldSet()
	require.NoError(t, err)
	set, err := got.ToFieldSet()
	require.NoError(t, err)
	require.Equal(t, expected.String(), set.String())
}
