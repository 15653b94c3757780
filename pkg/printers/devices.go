package printers

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// ResourceClaims prints *resourcev1.ResourceClaim.
var ResourceClaims = table[resourcev1.ResourceClaim](name, with(text("State", "", "A summary of the current state (allocated, pending, reserved, etc.)."), claimState), age)

func claimState(claim *resourcev1.ResourceClaim) string {
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
	return strings.Join(states, ",")
}

// ResourceSlices prints *resourcev1.ResourceSlice.
var ResourceSlices = table[resourcev1.ResourceSlice](name, text("Node", "spec.nodeName"), text("Driver", "spec.driver"), text("Pool", "spec.pool.name"), age)
