package generic

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/rest"
)

func TestTheSchemaIsCheckedAfterTheRules(t *testing.T) {
	t.Parallel()
	kind := Resource[*appsv1.Deployment]{Row: rest.Resource{Namespaced: true}}
	bare := kind.strategy()
	kind.Validate = func(c *check.Errors, _, _ *appsv1.Deployment) {
		c.Add(field.Forbidden(field.NewPath("spec", "strategy"), "is never right"))
	}
	own := kind.strategy()
	bad := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", ResourceVersion: "1"}}
	bad.Spec.Strategy.Type = "Blue"

	errs := bare.Validate(bad)
	require.Len(t, errs, 1)
	assert.Equal(t, `spec.strategy.type: Unsupported value: "Blue": supported values: "Recreate", "RollingUpdate"`, errs[0].Error())
	assert.Empty(t, bare.ValidateUpdate(bad, bad), "an old mistake may stay")
	errs = own.Validate(bad)
	require.Len(t, errs, 1, "a rule has an error about it")
	assert.Equal(t, field.ErrorTypeForbidden, errs[0].Type)
}
