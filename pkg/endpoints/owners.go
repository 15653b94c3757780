package endpoints

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
)

// When a duplicate owner was found, in the words of today's server.
const (
	asSent          = ""
	asAdmitted      = " after mutating admission happens"
	duplicateOwners = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)

// dropDuplicateOwners removes duplicate owners of an object, with a warning.
func (r *call) dropDuplicateOwners(object rest.Object, when string) {
	var owners []metav1.OwnerReference
	var duplicates []string
	for _, owner := range object.GetOwnerReferences() {
		if slices.ContainsFunc(owners, func(known metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(known, owner) }) {
			duplicates = append(duplicates, string(owner.UID))
			continue
		}
		owners = append(owners, owner)
	}
	if len(duplicates) > 0 {
		object.SetOwnerReferences(owners)
		r.warn(strings.Replace(duplicateOwners, "%s", when, 1) + strings.Join(duplicates, ", "))
	}
}
