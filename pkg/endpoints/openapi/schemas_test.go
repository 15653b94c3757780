package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// allSchemas returns the schemas of all kinds that are stable, served or not, in version 3 or 2.
func allSchemas(t testing.TB, isV2 bool) map[string]*object {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme, flowcontrolv1.AddToScheme,
		networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
		schedulingv1.AddToScheme, storagev1.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	s := schemas{byName: map[string]any{}, isV2: isV2}
	for _, of := range scheme.AllKnownTypes() {
		s.of(of)
	}
	byName := map[string]*object{}
	for name, schema := range s.byName {
		byName[name] = schema.(*object)
	}
	return byName
}

// digest returns the beginning of the SHA-256 of a schema, without the kinds that it is of: these
// are of the document. The schema is written by encoding/json, with sorted keys and no spaces.
func digest(t *testing.T, schema any) string {
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	delete(fields, "x-kubernetes-group-version-kind")
	text, err = json.Marshal(fields)
	require.NoError(t, err)
	return fmt.Sprintf("%.8x", sha256.Sum256(text))
}

func TestSchemasAreThoseOfTheRealServer(t *testing.T) {
	t.Parallel()
	for isV2, real := range map[bool]map[string]string{false: readReal(t).Schemas, true: readReal(t).Definitions} {
		all := allSchemas(t, isV2)
		require.Greater(t, len(real), 500)
		for name, want := range real {
			if assert.Contains(t, all, name) {
				assert.Equal(t, want, digest(t, all[name]), "%s %v", name, isV2)
			}
		}
	}
}

// These tell what is wrong, where a digest only tells that something is.
func TestFieldsHaveTheHintsOfTheirMarkers(t *testing.T) {
	t.Parallel()
	all := allSchemas(t, false)
	for field, want := range map[string]string{
		"apps.v1.DeploymentStrategy.type": `{"description":"Type of deployment. Can be \"Recreate\" or \"RollingUpdate\". Default is RollingUpdate.\n\nPossible enum values:\n - ` + "`\\\"Recreate\\\"`" + ` Kill all existing pods before creating new ones.\n - ` + "`\\\"RollingUpdate\\\"`" + ` Replace the old ReplicaSets by new one using rolling update i.e gradually scale down the old ReplicaSets and scale up the new one.","type":"string","enum":["Recreate","RollingUpdate"]}`,
		"core.v1.ContainerPort.protocol":  `{"type":"string","enum":["SCTP","TCP","UDP"],"default":"TCP"}`,
		"core.v1.ContainerPort.hostIP":    `{"type":"string"}`,
		"core.v1.ServicePort.port":        `{"type":"integer","format":"int32","default":0}`,
		"core.v1.PodSpec.containers":      `{"type":"array","items":{"default":{},"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"}]},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}`,
		"core.v1.PodSpec.nodeSelector":    `{"type":"object","additionalProperties":{"type":"string","default":""},"x-kubernetes-map-type":"atomic"}`,
		"core.v1.Pod.spec":                `{"default":{},"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}]}`,
		"networking.v1.IngressRule.http":  `{"$ref":"#/components/schemas/io.k8s.api.networking.v1.HTTPIngressRuleValue"}`,
	} {
		dot := strings.LastIndex(field, ".")
		schema := all["io.k8s.api."+field[:dot]]
		require.NotNil(t, schema, field)
		property := schema.Properties[field[dot+1:]]
		if !strings.Contains(want, "description") {
			property.Description = ""
		}
		got, err := json.Marshal(property)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), field)
	}
	assert.Equal(t, "atomic", all[core+"SecretKeySelector"].MapType)
	assert.Equal(t, []union{{"type", map[string]string{"localhostProfile": "LocalhostProfile"}}}, all[core+"SeccompProfile"].Unions)
	assert.Equal(t, []string{"imageRef"}, all[core+"ImageVolumeStatus"].Required, "although JSON may omit it")
	assert.NotContains(t, all[core+"ContainerImage"].Required, "names", "although JSON has it always")
}
