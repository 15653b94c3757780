package apiregistration_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/storage/memory"
)

const path = "/apis/apiregistration.k8s.io/v1/apiservices"

type door struct{ *Door }

func open(t *testing.T) (*apiregistration.Services, door) {
	services, rows := apiregistration.Resources(rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }})
	return services, door{OpenWith(t, rows...)}
}

func service(name, spec string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"version":"v1","groupPriorityMinimum":1000,"versionPriority":15,` + spec + `}}`
}

// catalogOf returns a catalog that has a resource of each version.
func catalogOf(versions ...string) *rest.Catalog {
	var catalog rest.Catalog
	for _, text := range versions {
		version, _ := schema.ParseGroupVersion(text)
		catalog.Install(rest.Resource{GroupVersion: version, Name: "things"})
	}
	return &catalog
}

func (d door) names() []string {
	names, _ := d.Must("GET", path, "").Names()
	return names
}

func (d door) spec(name string) (spec apiregistrationv1.APIServiceSpec) {
	var service apiregistrationv1.APIService
	d.Must("GET", path+"/"+name, "").Into(&service)
	return service.Spec
}

func (d door) patch(path, body string) {
	d.Must("PATCH", path, body, "Content-Type", "application/merge-patch+json")
}

func TestBuiltInVersionsAreRegisteredOnStart(t *testing.T) {
	t.Parallel()
	services, d := open(t)
	register := func(versions ...string) {
		_, err := apiregistration.Register(t.Context(), services, apiregistration.OnStart, rest.Catalogs{catalogOf(versions...)})
		require.NoError(t, err)
	}
	register("apps/v1", "batch/v1", "example.com/v1", "apiregistration.k8s.io/v1")
	assert.Equal(t, []string{"v1.apps", "v1.batch"}, d.names())
	var local apiregistrationv1.APIService
	d.Must("GET", path+"/v1.apps", "").Into(&local)
	assert.Equal(t, map[string]string{"kube-aggregator.kubernetes.io/automanaged": "onstart"}, local.Labels)
	assert.Equal(t, apiregistrationv1.APIServiceSpec{Group: "apps", Version: "v1", GroupPriorityMinimum: 17800, VersionPriority: 15}, local.Spec)
	assert.Equal(t, "Local APIServices are always available", local.Status.Conditions[0].Message)

	before, err := services.Objects.Version()
	require.NoError(t, err)
	register("apps/v1", "batch/v1")
	after, err := services.Objects.Version()
	require.NoError(t, err)
	assert.Equal(t, before, after, "a second start writes nothing")

	d.Must("POST", path, service("v1.mine.com", `"group":"mine.com"`))
	d.Must("DELETE", path+"/v1.apps", "")
	d.patch(path+"/v1.batch", `{"spec":{"versionPriority":7}}`)
	register("apps/v1", "batch/v1")
	assert.Equal(t, []string{"v1.apps", "v1.batch", "v1.mine.com"}, d.names())
	assert.EqualValues(t, 15, d.spec("v1.batch").VersionPriority)
	register("batch/v1")
	assert.Equal(t, []string{"v1.batch", "v1.mine.com"}, d.names(), "a version that is gone goes, what users created stays")
}

func TestVersionsOfDefinitionsAreKeptRegistered(t *testing.T) {
	t.Parallel()
	services, d := open(t)
	catalog := catalogOf("apps/v1", "a.com/v1")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range 2 { // as on two servers
		go func() { ended <- apiregistration.Keep(ctx, services, catalog) }()
	}
	eventually := func(why string, names ...string) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(names, d.names()) }, time.Minute, time.Millisecond, why)
	}
	eventually("it starts", "v1.a.com")
	things := rest.Resource{GroupVersion: schema.GroupVersion{Group: "b.com", Version: "v1"}, Name: "things"}
	catalog.Install(things)
	eventually("a version appears", "v1.a.com", "v1.b.com")
	assert.Equal(t, apiregistrationv1.APIServiceSpec{Group: "b.com", Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 100}, d.spec("v1.b.com"))
	catalog.Replace([]rest.Resource{things}, nil)
	eventually("it vanishes", "v1.a.com")
	d.patch(path+"/v1.a.com", `{"spec":{"versionPriority":7}}`)
	require.Eventually(t, func() bool { return d.spec("v1.a.com").VersionPriority == 100 }, time.Minute, time.Millisecond, "a changed one is restored")
	d.Must("DELETE", path+"/v1.a.com", "")
	eventually("a deleted one is created again", "v1.a.com")
	d.Must("POST", path, `{"metadata":{"name":"v1.gone.com","labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"group":"gone.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`)
	eventually("one that nothing serves is deleted", "v1.a.com")
	cancel()
	assert.NoError(t, <-ended)
	assert.NoError(t, <-ended)
}

func TestTheConditionOfAnotherServerIsNotKnownAtFirst(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	const name = path + "/v1.metrics.k8s.io"
	available := func() string {
		var service apiregistrationv1.APIService
		d.Must("GET", name, "").Into(&service)
		if len(service.Status.Conditions) == 0 {
			return ""
		}
		c := service.Status.Conditions[0]
		return string(c.Type) + " " + string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	d.Must("POST", path, service("v1.metrics.k8s.io", `"group":"metrics.k8s.io","service":{"namespace":"kube-system","name":"metrics-server"}`))
	assert.Empty(t, available())
	assert.EqualValues(t, 443, *d.spec("v1.metrics.k8s.io").Service.Port)
	d.patch(name, `{"spec":{"service":null}}`)
	assert.Equal(t, "Available True Local: Local APIServices are always available", available())
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

		"is invalid: metadata.name: Invalid value: \"a/b\": may not contain '/'": service("a/b", `"group":"b.com"`),

		"is invalid: [spec.caBundle: Invalid value: \"1 bytes\": local APIServices may not have a caBundle, spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify]": service("v1.b.com", `"group":"b.com","caBundle":"eA==","insecureSkipTLSVerify":true`),

		"is invalid: [spec.service.namespace: Required value, spec.service.name: Required value, spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive, spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present]": service("v1.b.com", `"group":"b.com","service":{"port":0},"caBundle":"eA==","insecureSkipTLSVerify":true`),
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
	apiregistration.Sort(versions, func(version schema.GroupVersion) (schema.GroupVersion, apiregistration.Priorities) {
		p, _ := apiregistration.PrioritiesOf(version)
		return version, p
	})
	var sorted []string
	for _, version := range versions {
		sorted = append(sorted, version.String())
	}
	assert.Equal(t, []string{"apiregistration.k8s.io/v1", "apps/v1", "autoscaling/v2", "autoscaling/v1", "a.com/v2alpha1", "b.com/v2", "b.com/v1", "b.com/v1beta1", "b.com/other"}, sorted)
}
