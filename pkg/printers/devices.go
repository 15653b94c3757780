package printers

import (
	"cmp"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var resourceSliceDoc = resourcev1.ResourceSliceSpec{}.SwaggerDoc()

// Named prints the name and the age of objects of any kind.
var Named = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, ageColumn},
	Cells: of(func(object metav1.Object, now time.Time) []any {
		return []any{object.GetName(), since(object.GetCreationTimestamp().Time, now)}
	}),
}

// ResourceClaims prints *resourcev1.ResourceClaim.
var ResourceClaims = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("State", "A summary of the current state (allocated, pending, reserved, etc.)."), ageColumn},
	Cells: of(func(claim *resourcev1.ResourceClaim, now time.Time) []any {
		var states []string
		deleted, allocated := claim.DeletionTimestamp != nil, claim.Status.Allocation != nil
		for _, state := range []struct {
			in   bool
			name string
		}{{deleted, "deleted"}, {!allocated && !deleted, "pending"}, {allocated, "allocated"}, {allocated && len(claim.Status.ReservedFor) > 0, "reserved"}} {
			if state.in {
				states = append(states, state.name)
			}
		}
		return []any{claim.Name, strings.Join(states, ","), since(claim.CreationTimestamp.Time, now)}
	}),
}

// ResourceSlices prints *resourcev1.ResourceSlice.
var ResourceSlices = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Node", resourceSliceDoc["nodeName"]),
		text("Driver", resourceSliceDoc["driver"]),
		text("Pool", resourcev1.ResourcePool{}.SwaggerDoc()["name"]),
		ageColumn,
	},
	Cells: of(func(slice *resourcev1.ResourceSlice, now time.Time) []any {
		spec := &slice.Spec
		return []any{slice.Name, *cmp.Or(spec.NodeName, new("")), spec.Driver, spec.Pool.Name, since(slice.CreationTimestamp.Time, now)}
	}),
}
