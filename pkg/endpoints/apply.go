package endpoints

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"kube2014/pkg/rest"
)

// apply answers with the object that results when a manager applies the configuration in a body. The object may be new.
func (r *call) apply(storage rest.Updater, options *metav1.PatchOptions, body []byte) error {
	applier, ok := storage.(rest.Applier)
	if !ok {
		return notAllowed()
	}
	configuration, twice, err := r.decoder().Configuration(body)
	if err != nil {
		return err
	}
	return r.change(storage, len(options.DryRun) > 0, options, nil, func(current rest.Object) (rest.Object, error) {
		object, err := applier.Apply(current, configuration.DeepCopy(), options.FieldManager, options.Force != nil && *options.Force)
		if err != nil {
			return nil, err
		}
		if twice != nil && r.decoder().FieldValidation() == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding YAML: %v", twice))
		}
		if twice != nil && r.decoder().FieldValidation() == metav1.FieldValidationWarn {
			r.decoder().WarnOf(twice)
		}
		if uid := object.GetUID(); current == nil && uid != "" {
			return nil, apierrors.NewConflict(r.Resource.GroupResource(), r.info.Name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		if err := r.agreeOnName(object); err != nil {
			return nil, err
		}
		r.dropDuplicateOwners(object, asAdmitted)
		return object, nil
	})
}

// manager returns the name of the manager whose request this is: the one in the query or, by default, the client's program.
func (r *call) manager(named string) *string {
	if named != "" {
		return &named
	}
	program, _, _ := strings.Cut(r.UserAgent(), "/")
	name := ""
	for _, c := range program {
		if len(name)+utf8.RuneLen(c) > validation.FieldManagerMaxLength {
			break
		}
		if unicode.IsPrint(c) {
			name += string(c)
		}
	}
	return &name
}

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
		r.Warn(strings.Replace(duplicateOwners, "%s", when, 1) + strings.Join(duplicates, ", "))
	}
}
