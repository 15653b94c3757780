package admissionregistration_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/admissionregistration"
)

var bob = &user.Info{Name: "bob", UID: "2", Groups: []string{"devs", user.AllAuthenticated}}

// decides is an authorizer.
type decides func(a authorizer.Attributes) (authorizer.Decision, string, error)

func (d decides) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return d(a)
}

// readers let bob get all secrets, and read the configmaps in the namespace default.
func readers() *admissionregistration.Readers {
	catalog := &rest.Catalog{}
	for kind, name := range map[string]string{"ConfigMap": "configmaps", "Secret": "secrets"} {
		catalog.Install(rest.InNamespaces(corev1.SchemeGroupVersion, kind, name, printers.Printer{}))
	}
	return &admissionregistration.Readers{Catalogs: rest.Catalogs{catalog}, Authorizer: decides(func(a authorizer.Attributes) (authorizer.Decision, string, error) {
		readsSecret := a.Resource == "secrets" && a.Verb == "get"
		readsMap := a.Resource == "configmaps" && a.Namespace == "default"
		if a.IsResource && a.APIGroup == "" && a.APIVersion == "v1" && a.User == bob && (readsSecret || readsMap) {
			return authorizer.Allow, "", nil
		}
		return authorizer.NoOpinion, "", nil
	})}
}

const (
	match   = `"matchConstraints":{"resourceRules":[{"apiGroups":["x.io"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["widgets"]}]}`
	configs = `{"apiVersion":"v1","kind":"ConfigMap"}`
	secrets = `{"apiVersion":"v1","kind":"Secret"}`
	widgets = `{"apiVersion":"x.io/v1","kind":"Widget"}`
	anyone  = `{"name":"n","parameterNotFoundAction":"Deny"}`
	here    = `{"name":"n","namespace":"default","parameterNotFoundAction":"Deny"}`
	allHere = `{"selector":{},"namespace":"default","parameterNotFoundAction":"Deny"}`
	all     = `{"selector":{},"parameterNotFoundAction":"Deny"}`
	who     = `user "bob"`
)

// policyOf returns a policy of each kind with a kind of parameters, bindingOf a binding with a reference to some.
func policyOf(name, kind string) map[string]string {
	spec := `{"metadata":{"name":"` + name + `"},"spec":{"paramKind":` + kind + `,` + match
	return map[string]string{
		"Validating": spec + `,"validations":[{"expression":"true"}]}}`,
		"Mutating":   spec + `,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{}]"}}]}}`,
	}
}

func bindingOf(policy, ref string) map[string]string {
	spec := `{"metadata":{"name":"b"},"spec":{"policyName":"` + policy + `","paramRef":` + ref
	return map[string]string{"Validating": spec + `,"validationActions":["Deny"]}}`, "Mutating": spec + `}}`}
}

func pathOf(class, kind string) string { return group + "/" + strings.ToLower(class) + kind }

// is checks that a client is refused for a reason, or not if that is "".
func is(t *testing.T, answer Answer, of, why string) {
	t.Helper()
	if why == "" {
		assert.Less(t, answer.Status, 300, "%s: %s", of, answer.Text)
	} else {
		assert.Equal(t, 422, answer.Status, of)
		assert.Contains(t, answer.Error().Message, why, of)
	}
}

// What clients are told is that of the real server.
func TestWhoWritesAPolicyMustBeAllowedToReadAllOfItsKindOfParameters(t *testing.T) {
	t.Parallel()
	for class := range policyOf("", "") {
		d, path := open(t, readers()), pathOf(class, "admissionpolicies")
		refused := class + `AdmissionPolicy.admissionregistration.k8s.io "a" is invalid: spec.paramKind: Forbidden: ` + who + ` must have "get" permission on all objects of the referenced paramKind `
		is(t, d.As(bob).Do("POST", path, policyOf("a", configs)[class]), class, refused+`(kind=ConfigMap, apiVersion=v1)`)
		is(t, d.As(bob).Do("POST", path, policyOf("a", widgets)[class]), class, refused+`(kind=Widget, apiVersion=x.io/v1)`)
		is(t, d.As(bob).Do("POST", path, policyOf("secrets", secrets)[class]), class, "")
		is(t, d.As(bob).Do("POST", path, policyOf("a", "null")[class]), class, "")
		is(t, d.Do("POST", path, policyOf("configs", configs)[class]), "the insecure port", "")
		is(t, d.As(bob).Patch(path+"/configs", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`), "the same kind", "")
		is(t, d.As(bob).Patch(path+"/a", MergePatch, `{"spec":{"paramKind":`+configs+`}}`), class, refused+`(kind=ConfigMap, apiVersion=v1)`)
		is(t, d.As(bob).Patch(path+"/secrets", MergePatch, `{"spec":{"paramKind":`+configs+`}}`), class, "ConfigMap")
		is(t, d.As(bob).Patch(path+"/a", MergePatch, `{"spec":{"failurePolicy":"X","paramKind":`+configs+`}}`), "another mistake is told alone", `is invalid: spec.failurePolicy`)
		is(t, d.As(bob).Patch(path+"/configs", MergePatch, `{"spec":{"paramKind":null}}`), class, "")
	}
}

// K98: the user is told by name, and as who he is.
func TestWhoBindsAPolicyMustBeAllowedToReadTheParameters(t *testing.T) {
	t.Parallel()
	for class := range policyOf("", "") {
		d, bindings := open(t, readers()), pathOf(class, "admissionpolicybindings")
		for name, kind := range map[string]string{"configs": configs, "secrets": secrets, "widgets": widgets, "plain": "null"} {
			d.Must("POST", pathOf(class, "admissionpolicies"), policyOf(name, kind)[class])
		}
		refused := func(verb string) string {
			return `spec.paramRef: Forbidden: ` + who + ` does not have "` + verb + `" permission on the object referenced by paramRef`
		}
		const unknown = ` to determine minimum required permissions and ` + who + ` does not have `
		for _, row := range []struct{ policy, ref, why string }{
			{"configs", anyone, refused("get")}, {"configs", here, ""}, {"configs", allHere, ""}, {"configs", all, refused("list")}, {"configs", "null", ""},
			{"secrets", anyone, ""}, {"secrets", here, ""}, {"secrets", allHere, refused("list")}, {"plain", here, refused("get")},
			{"widgets", here, `spec.paramRef: Forbidden: unable to resolve paramKind x.io/v1, Kind=Widget` + unknown + `"get" permission for all groups, versions and resources`},
			{"none", all, `spec.paramRef: Forbidden: unable to get policy none` + unknown + `"list" permission for all groups, versions and resources`},
		} {
			is(t, d.As(bob).Do("POST", bindings+"?dryRun=All", bindingOf(row.policy, row.ref)[class]), class+row.policy+row.ref, row.why)
		}
		d.Must("POST", bindings, bindingOf("configs", anyone)[class])
		is(t, d.As(bob).Patch(bindings+"/b", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`), class, refused("get"))
		is(t, d.As(bob).Patch(bindings+"/b", MergePatch, `{"spec":{"paramRef":null}}`), class, "")
	}
}

func TestAnAuthorizerThatFailsLetsNobodyRead(t *testing.T) {
	t.Parallel()
	failing := readers()
	failing.Authorizer = decides(func(authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.NoOpinion, "", errors.New("no answer")
	})
	d := open(t, failing).As(bob)
	is(t, d.Do("POST", group+"/validatingadmissionpolicies", policyOf("a", secrets)["Validating"]), "", `spec.paramKind: Forbidden: no answer`)
	is(t, d.Do("POST", group+"/validatingadmissionpolicybindings", bindingOf("a", here)["Validating"]), "", `spec.paramRef: Forbidden: failed to authorize request: no answer`)
}
