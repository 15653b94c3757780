package endpoints

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/rest"
	"kube2014/pkg/util/quantity"
)

// applies reports whether the body is a configuration to apply.
func (r *call) applies() bool {
	return types.PatchType(bodies.Type(r.Header)) == types.ApplyYAMLPatchType
}

// apply answers with the object that results when a manager applies the configuration in a body. The object may be new.
func (r *call) apply(storage rest.Updater, options *metav1.PatchOptions, body []byte) error {
	applier, ok := storage.(rest.Applier)
	if !ok {
		return notAllowed()
	}
	configuration, twice, err := r.configuration(body)
	if err != nil {
		return err
	}
	return r.change(storage, len(options.DryRun) > 0, options, nil, func(current rest.Object) (rest.Object, error) {
		object, err := applier.Apply(current, configuration.DeepCopy(), options.FieldManager, options.Force != nil && *options.Force)
		if err != nil {
			return nil, err
		}
		if twice != nil && r.fieldValidation() == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding YAML: %v", twice))
		}
		if twice != nil && r.fieldValidation() == metav1.FieldValidationWarn {
			r.warnOf(twice)
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

// configuration decodes a configuration in YAML, and returns an error too for a field that is given twice.
func (r *call) configuration(body []byte) (_ *unstructured.Unstructured, twice, err error) {
	var members map[string]any
	text, twice, err := bodies.FromYAML(body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: error converting YAML to JSON: %v", wrong))
	}
	if err != nil {
		return nil, nil, err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &members) != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", yaml.Unmarshal(body, &members))) // in its words
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, nil, err
	}
	if err := r.checkNesting(bodies.Nesting, text); err != nil {
		return nil, nil, err
	}
	return &unstructured.Unstructured{Object: members}, twice, nil
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
