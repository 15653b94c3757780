package apiregistration_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	. "kube2014/pkg/endpoints/endpointstest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage/memory"
)

const path = "/apis/apiregistration.k8s.io/v1/apiservices"

func open(t *testing.T) (*apiregistration.Services, *Door) {
	services, rows := apiregistration.Resources(generic.Base{Objects: memory.New(1), Turns: &generic.Turns{}, Now: func() time.Time { return Now }})
	return services, OpenWith(t, rows...)
}

func service(name, spec string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"version":"v1","groupPriorityMinimum":1000,"versionPriority":15,` + spec + `}}`
}

func TestTheServerCreatesTheLocalServicesOfItsVersions(t *testing.T) {
	t.Parallel()
	services, d := open(t)
	builtIn, own := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "example.com", Version: "v1"}
	names := func() []string {
		names, _ := d.Must("GET", path, "").Names()
		return names
	}
	require.NoError(t, apiregistration.Register(t.Context(), services, []schema.GroupVersion{builtIn, own, apiregistrationv1.SchemeGroupVersion}))
	assert.Equal(t, []string{"v1.apps", "v1.example.com"}, names())
	var local apiregistrationv1.APIService
	d.Must("GET", path+"/v1.example.com", "").Into(&local)
	assert.EqualValues(t, 1000, local.Spec.GroupPriorityMinimum)
	assert.EqualValues(t, 100, local.Spec.VersionPriority)
	assert.Equal(t, "Local APIServices are always available", local.Status.Conditions[0].Message)
	d.Must("POST", path, service("v1.mine.com", `"group":"mine.com"`))
	require.NoError(t, apiregistration.Register(t.Context(), services, nil))
	assert.Equal(t, []string{"v1.apps", "v1.mine.com"}, names(), "those of built-in kinds and of users stay")
	d.Must("DELETE", path+"/v1.apps", "")
	require.NoError(t, apiregistration.Register(t.Context(), services, []schema.GroupVersion{builtIn}))
	assert.Equal(t, []string{"v1.apps", "v1.mine.com"}, names(), "a deleted one is created again")
}

// K97: there is no aggregator yet.
func TestAServiceOfAnotherServerIsNeverAvailable(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	d.Must("POST", path, service("v1.metrics.k8s.io", `"group":"metrics.k8s.io","service":{"namespace":"kube-system","name":"metrics-server"}`))
	var remote apiregistrationv1.APIService
	d.Must("GET", path+"/v1.metrics.k8s.io", "").Into(&remote)
	assert.Empty(t, remote.Status.Conditions)
	assert.EqualValues(t, 443, *remote.Spec.Service.Port)
	assert.Equal(t, 404, d.Do("GET", "/apis/metrics.k8s.io/v1/nodes", "").Status)
}

func TestAWrongServiceIsRefusedInTodaysWords(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for message, body := range map[string]string{
		"metadata.name: Invalid value: \"a\": must be `spec.version+\".\"+spec.group`: \"v1.b.com\"":            service("a", `"group":"b.com"`),
		"spec.group: Required value: only v1 may have an empty group and it better be legacy kube":              `{"metadata":{"name":"v2."},"spec":{"version":"v2","groupPriorityMinimum":1,"versionPriority":1}}`,
		"spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000":                 `{"metadata":{"name":"v1.b.com"},"spec":{"group":"b.com","version":"v1","groupPriorityMinimum":20001,"versionPriority":1}}`,
		"spec.versionPriority: Invalid value: 0: must be positive and less than 1000":                           `{"metadata":{"name":"v1.b.com"},"spec":{"group":"b.com","version":"v1","groupPriorityMinimum":1}}`,
		"spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify": service("v1.b.com", `"group":"b.com","insecureSkipTLSVerify":true`),
		"spec.caBundle: Invalid value: \"1 bytes\": local APIServices may not have a caBundle":                  service("v1.b.com", `"group":"b.com","caBundle":"eA=="`),
		"spec.service.name: Required value": service("v1.b.com", `"group":"b.com","service":{"namespace":"n"}`),
		"spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive": service("v1.b.com", `"group":"b.com","service":{"namespace":"n","name":"s","port":0}`),
		"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present":        service("v1.b.com", `"group":"b.com","insecureSkipTLSVerify":true,"caBundle":"eA==","service":{"namespace":"n","name":"s"}`),
	} {
		answer := d.Do("POST", path, body)
		assert.Equal(t, 422, answer.Status, body)
		assert.Contains(t, answer.Error().Message, message)
	}
}

func TestDiscoveryListsGroupsByPriorityAndVersionsByAge(t *testing.T) {
	t.Parallel()
	var versions []schema.GroupVersion
	for _, text := range []string{"b.com/v1beta1", "autoscaling/v1", "b.com/v1", "a.com/v2alpha1", "apps/v1", "b.com/v2", "autoscaling/v2", "apiregistration.k8s.io/v1", "b.com/other"} {
		version, err := schema.ParseGroupVersion(text)
		require.NoError(t, err)
		versions = append(versions, version)
	}
	slices.SortFunc(versions, apiregistration.Compare)
	var sorted []string
	for _, version := range versions {
		sorted = append(sorted, version.String())
	}
	assert.Equal(t, []string{"apiregistration.k8s.io/v1", "apps/v1", "autoscaling/v2", "autoscaling/v1", "a.com/v2alpha1", "b.com/v2", "b.com/v1", "b.com/v1beta1", "b.com/other"}, sorted)
}
