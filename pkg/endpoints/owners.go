package endpoints

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
)

// When an owner was found twice, in the words of today's server.
const (
	asSent      = ""
	asToBeKept  = " after mutating admission happens"
	ownersTwice = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)

// dropOwnersTwice keeps each owner of an object once, and warns if there were more.
func (r *call) dropOwnersTwice(object rest.Object, when string) {
	var owners []metav1.OwnerReference
	var twice []string
	for _, owner := range object.GetOwnerReferences() {
		if slices.ContainsFunc(owners, func(known metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(known, owner) }) {
			twice = append(twice, string(owner.UID))
			continue
		}
		owners = append(owners, owner)
	}
	if len(twice) > 0 {
		object.SetOwnerReferences(owners)
		r.warn(strings.Replace(ownersTwice, "%s", when, 1) + strings.Join(twice, ", "))
	}
}
