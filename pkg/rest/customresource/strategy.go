package customresource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"

	"kube2014/pkg/rest/fieldmanager"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// own is an object of a kind without a Go type.
type own = *unstructured.Unstructured

// strategy has the rules for the objects of one version.
func (v *version) strategy() genericregistry.Strategy[own] {
	var resets fieldmanager.Fields
	if v.hasStatus() {
		resets = fieldmanager.Fields{"status"}
	}
	return genericregistry.Strategy[own]{
		Resets: resets,
		PrepareForCreate: func(object own) {
			if v.hasStatus() {
				delete(object.Object, "status")
			}
			object.SetGeneration(1)
		},
		Default: v.setDefaults,
		Validate: func(object own) field.ErrorList {
			metadata := apivalidation.ValidateObjectMetaAccessor(object, v.row.Namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
			return v.validateWhole(object, nil, metadata)
		},
		PrepareForUpdate: func(now, old own) {
			if v.hasStatus() {
				setMember(now, "status", old)
			}
			if !equality.Semantic.DeepEqual(withoutMetadata(now), withoutMetadata(old)) {
				now.SetGeneration(old.GetGeneration() + 1)
			}
		},
		ValidateUpdate: func(now, old own) field.ErrorList {
			return v.validateWhole(now, old, apivalidation.ValidateObjectMetaAccessorUpdate(now, old, field.NewPath("metadata")))
		},
		ForbidUnconditionalUpdate: true,
		Warnings: func(now, old own) []string {
			return append(finalizerWarnings(now, old), v.stillWrong(now, old)...)
		},
		Fields: v.fields(),
	}
}

// statusStrategy has the rules for updates of the status.
func (v *version) statusStrategy() genericregistry.Strategy[own] {
	return genericregistry.Strategy[own]{
		ForbidUnconditionalUpdate: true,
		Resets:                    fieldmanager.Fields{"metadata", "spec"},
		Default:                   v.setDefaults,
		PrepareForUpdate: func(now, old own) {
			updated := old.DeepCopy()
			setMember(updated, "status", now)
			*now = *updated
		},
		ValidateUpdate: v.validateStatus,
		Warnings:       v.stillWrong,
	}
}

// setMember sets a member of an object to that of another one.
func setMember(object own, name string, from own) {
	if value, has := from.Object[name]; has {
		object.Object[name] = value
	} else {
		delete(object.Object, name)
	}
}

func withoutMetadata(object own) map[string]any {
	members := maps.Clone(object.Object)
	delete(members, "metadata")
	return members
}

func (v *version) setDefaults(object own) {
	if s, err := v.schema(); err == nil { // else it is not valid
		defaulting.Default(object.Object, s.structural)
	}
}

// validate returns the errors of an object. Old is nil for a new one. The parts are those that the caller checks.
func (v *version) validate(now, old own, parts func(s *schemaOf, r *rules, related *common.CorrelatedObject) field.ErrorList) field.ErrorList {
	s, rules, err := v.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := v.ofKind(now); len(errs) > 0 {
		return errs
	}
	related := s.related(now, old)
	errs := append(parts(s, rules, related), s.lists(now, old)...)
	return append(errs, rules.evaluate(context.Background(), now, old, related, errs)...)
}

// validateWhole returns the errors of an object, whose metadata have some.
func (v *version) validateWhole(now, old own, metadata field.ErrorList) field.ErrorList {
	return v.validate(now, old, func(s *schemaOf, r *rules, related *common.CorrelatedObject) field.ErrorList {
		return slices.Concat(metadata, r.values(now, old, related), v.scaled(now), v.scaledStatus(now), objectmeta.Validate(nil, now.Object, s.structural, false))
	})
}

func (v *version) validateStatus(now, old own) field.ErrorList {
	return v.validate(now, old, func(_ *schemaOf, r *rules, related *common.CorrelatedObject) field.ErrorList {
		return slices.Concat(apivalidation.ValidateObjectMetaAccessorUpdate(now, old, field.NewPath("metadata")), r.statusValues(now, old, related), v.scaledStatus(now))
	})
}

// stillWrong returns warnings for what a rule refuses, but was so before. Rules are evaluated once more for them.
func (v *version) stillWrong(now, old own) []string {
	s, rules, err := v.rules()
	if err != nil || old == nil {
		return nil
	}
	var found warnings
	rules.evaluate(warning.WithWarningRecorder(context.Background(), &found), now, old, s.related(now, old), nil)
	return found
}

// warnings implements warning.Recorder.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// ofKind returns the errors of an object that names another kind or version.
func (v *version) ofKind(object own) (errs field.ErrorList) {
	if kind := v.row.Kind.Kind; object.GetKind() != kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), object.GetKind(), "must be "+kind))
	}
	if version := v.row.Kind.GroupVersion().String(); object.GetAPIVersion() != version {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), object.GetAPIVersion(), "must be "+version))
	}
	return errs
}

// finalizerWarnings returns warnings for new finalizers whose names others may use too.
func finalizerWarnings(now, old own) (warnings []string) {
	for _, name := range now.GetFinalizers() {
		if old != nil && slices.Contains(old.GetFinalizers(), name) || slices.Contains(knownFinalizers, name) {
			continue
		}
		at := fmt.Sprintf("metadata.finalizers: %q: ", name)
		for _, wrong := range validation.IsQualifiedName(name) {
			warnings = append(warnings, at+wrong)
		}
		switch {
		case strings.Contains(name, "/"):
		case strings.Contains(name, "."):
			warnings = append(warnings, at+"prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
		default:
			warnings = append(warnings, at+"prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
		}
	}
	return warnings
}

var knownFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes)}
