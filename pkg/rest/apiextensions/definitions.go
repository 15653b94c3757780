// Package apiextensions has the kind CustomResourceDefinition, which today's server calls CRD. Its rules are those of today's
// server itself: k8s.io/apiextensions-apiserver has them in a package without a server.
package apiextensions

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube2014/pkg/api"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Kind is the stored kind of the definitions.
const Kind = api.Kind("customresourcedefinitions.apiextensions.k8s.io")

type crd = *apiextensionsv1.CustomResourceDefinition

// Definitions are the stores of the definitions: of whole ones, and of their status.
type Definitions struct{ Whole, Status *genericregistry.Store[crd] }

// NewDefinitions returns the stores of the definitions.
func NewDefinitions(base rest.Base) Definitions {
	whole := genericregistry.NewStore(base, row(), strategy)
	whole.Holds = func(object crd) bool { return object.DeletionTimestamp == nil } // it gets a finalizer first
	whole.Mark = markDeleted
	return Definitions{whole, whole.Subresource("status", statusStrategy)}
}

func row() rest.Resource {
	row := rest.ClusterScoped(apiextensionsv1.SchemeGroupVersion, "CustomResourceDefinition", "customresourcedefinitions", printers.Printer{}, "crd", "crds").In("api-extensions")
	row.StoredKind, row.Recursive = Kind, true
	return row
}

// Rows returns the rows of the kind and of its status.
func (d Definitions) Rows() []rest.Resource {
	return []rest.Resource{row().With(d.Whole), row().Subresource("status", generic.Subresource{Getter: d.Status, Updater: d.Status, Applier: d.Status})}
}

// markDeleted lets a definition wait until its objects are deleted. As in today's server, it has no grace period then.
func markDeleted(object crd) {
	object.DeletionGracePeriodSeconds = nil
	object.Generation--
	if !slices.Contains(object.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		object.Finalizers = append(object.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	apihelpers.SetCRDCondition(object, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
}

var strategy = genericregistry.Strategy[crd]{
	Resets:                    fieldmanager.Fields{"status"},
	ForbidUnconditionalUpdate: true,
	PrepareForCreate: func(object crd) {
		object.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		object.Generation = 1
		rememberStored(object)
	},
	Default: func(object crd) { apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(object) },
	Validate: func(object crd) field.ErrorList {
		now, err := internal(object)
		if err != nil {
			return field.ErrorList{err}
		}
		return validation.ValidateCustomResourceDefinition(context.Background(), now)
	},
	Warnings: formatWarnings,
	PrepareForUpdate: func(object, old crd) {
		object.Status = *old.Status.DeepCopy()
		if !equality.Semantic.DeepEqual(object.Spec, old.Spec) {
			object.Generation = old.Generation + 1
		}
		rememberStored(object)
	},
	ValidateUpdate: updateBy(func(now, before *apiextensions.CustomResourceDefinition) field.ErrorList {
		return validation.ValidateCustomResourceDefinitionUpdate(context.Background(), now, before)
	}),
}

var statusStrategy = genericregistry.Strategy[crd]{
	Resets:                    fieldmanager.Fields{"spec"},
	ForbidUnconditionalUpdate: true,
	Default:                   strategy.Default,
	PrepareForUpdate: func(object, old crd) {
		object.Spec = old.Spec // as in today's server, the metadata may change
	},
	ValidateUpdate: func(object, old crd) field.ErrorList {
		now, before := *object, *old
		now.Spec, before.Spec = apiextensionsv1.CustomResourceDefinitionSpec{}, apiextensionsv1.CustomResourceDefinitionSpec{} // large ones take long to convert
		return updateBy(validation.ValidateUpdateCustomResourceDefinitionStatus)(&now, &before)
	},
}

// rememberStored adds the version in which objects are stored to those in which some may be.
func rememberStored(object crd) {
	for _, version := range object.Spec.Versions {
		if version.Storage && !slices.Contains(object.Status.StoredVersions, version.Name) {
			object.Status.StoredVersions = append(object.Status.StoredVersions, version.Name)
		}
	}
}

// formatWarnings returns warnings for formats of values that today's server does not know, and does not check.
func formatWarnings(object, old crd) (warnings []string) {
	before := map[string]bool{}
	if old != nil {
		unknownFormats(old, func(format string) { before[format] = true })
	}
	unknownFormats(object, func(format string) {
		if !before[format] {
			warnings = append(warnings, fmt.Sprintf("unrecognized format %q", format))
		}
	})
	return warnings
}

func unknownFormats(object crd, found func(format string)) {
	converted, err := internal(object)
	if err != nil {
		return
	}
	search := func(props *apiextensions.JSONSchemaProps) {
		validation.SchemaHas(props, func(s *apiextensions.JSONSchemaProps) bool {
			if s.Format != "" {
				one := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
				for _, format := range schemavalidation.GetUnrecognizedFormats(one, environment.DefaultCompatibilityVersion()) {
					found(format)
				}
			}
			return false
		})
	}
	if v := converted.Spec.Validation; v != nil {
		search(v.OpenAPIV3Schema)
	}
	for _, version := range converted.Spec.Versions {
		if version.Schema != nil {
			search(version.Schema.OpenAPIV3Schema)
		}
	}
}

// updateBy adapts rules for updates in the internal version, for which all rules are written.
func updateBy(rules func(now, before *apiextensions.CustomResourceDefinition) field.ErrorList) func(object, old crd) field.ErrorList {
	return func(object, old crd) field.ErrorList {
		now, err := internal(object)
		if err != nil {
			return field.ErrorList{err}
		}
		before, err := internal(old)
		if err != nil {
			return field.ErrorList{err}
		}
		return rules(now, before)
	}
}

// internal converts a definition to the internal version. It fails if a value in it is no JSON, which can be in protobuf.
func internal(object crd) (*apiextensions.CustomResourceDefinition, *field.Error) {
	converted := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(object, converted, nil); err != nil {
		return nil, field.Invalid(field.NewPath("spec"), nil, err.Error())
	}
	return converted, nil
}
