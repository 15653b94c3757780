package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/certtest"
)

const (
	configMapsOfSystem     = "/api/v1/namespaces/kube-system/configmaps"
	authenticationInfo     = configMapsOfSystem + "/extension-apiserver-authentication"
	onlyAuthenticationInfo = "?fieldSelector=metadata.name%3Dextension-apiserver-authentication"
	bindingsOfSystem       = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings"
	clusterBindings        = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	reviewsOfTokens        = "/apis/authentication.k8s.io/v1/tokenreviews"
	reviewsOfAccess        = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	rightsOfExtension      = `{"metadata":{"name":"extension"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"extension"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":`
	extension, extensions  = "extension-token-19", "extension-token-19,extension,9\n"
)

// startTrusting starts a program that tells whom it trusts, with its post-start hooks done. The flags open its secure port.
func startTrusting(t *testing.T, authority *certtest.Pair, flags ...string) (ask func(who credentials, wanted int, method, path, body string) string) {
	_, log, _, url := secureProgram(t, unhurried, append(flags, "-authorization_mode", "RBAC")...)
	go log.end() // nobody reads it, and a full pipe would stop the server
	client := clientWith(t, authority.Pool(), nil)
	eventually(t, func() bool {
		status, _, _ := askWith(t, client, bearer(adminToken), "GET", url+"/readyz", "")
		return status == http.StatusOK
	}, "it is ready")
	return func(who credentials, wanted int, method, path, body string) string {
		t.Helper()
		by := client
		if who.certificate != nil {
			by = clientWith(t, authority.Pool(), who.certificate)
		}
		status, text, _ := askWith(t, by, who, method, url+path, body)
		require.Equal(t, wanted, status, "%s %s: %s", method, path, text)
		return text
	}
}

// objectOf returns an object in JSON.
func objectOf[T any](t *testing.T, text string) (object T) {
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	return object
}

func TestServersBehindTheAggregatorKnowWhomEachServerTrusts(t *testing.T) {
	t.Parallel()
	for name, store := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			w, kept := everyWay(t), store(t)
			opened, authority := w.secureFlags()
			ask := startTrusting(t, authority, append(append(opened, w.flags...), append(kept, "-requestheader_extra_headers_prefix", "X-Remote-Extra-")...)...)
			admin := bearer(adminToken)
			told := func() map[string]string {
				return objectOf[corev1.ConfigMap](t, ask(admin, 200, "GET", authenticationInfo, "")).Data
			}
			want := map[string]string{
				"client-ca-file": string(w.clients.CertPEM), "requestheader-client-ca-file": string(w.proxies.CertPEM), "requestheader-username-headers": `["X-Remote-User"]`,
				"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`, "requestheader-allowed-names": `["front-proxy","other-proxy"]`,
			}
			assert.Equal(t, want, told())

			if name != "memory" { // another server on the same etcd
				other := everyWay(t)
				opened, authority := other.secureFlags()
				startTrusting(t, authority, append(append(opened, kept...), "-token_auth_file", other.path("tokens"), "-client_ca_file", other.path("clients.crt"))...)
				want["client-ca-file"] += string(other.clients.CertPEM)
				assert.Equal(t, want, told())
			}
			ask(admin, 200, "DELETE", authenticationInfo, "")
			eventually(t, func() bool {
				items := objectOf[corev1.ConfigMapList](t, ask(admin, 200, "GET", configMapsOfSystem+onlyAuthenticationInfo, "")).Items
				return len(items) == 1 && len(items[0].Data) == len(want) && len(items[0].Data["client-ca-file"]) == len(want["client-ca-file"])
			}, "it is there again")
			for _, resource := range []string{"tasks", "services", "replicationControllers"} {
				assert.NotContains(t, ask(admin, 200, "GET", "/api/v1beta1/"+resource, ""), "extension-apiserver-authentication")
			}
		})
	}
}

// What k8s.io/apiserver asks with its delegated authentication and authorization.
func TestAServerBehindTheAggregatorAsksWhoSomebodyIsAndWhatHeMayDo(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	opened, authority := w.secureFlags()
	w.write("tokens", rightToken+",bob,2,\"builders,testers\"\n"+adminToken+",admin,1,system:masters\n"+extensions)
	ask := startTrusting(t, authority, append(append(opened, w.flags...), "-requestheader_uid_headers", "X-Remote-Uid", "-requestheader_extra_headers_prefix", "X-Remote-Extra-")...)
	admin, delegating := bearer(adminToken), bearer(extension)
	ask(delegating, 403, "GET", authenticationInfo, "")
	ask(delegating, 403, "POST", reviewsOfTokens, `{"spec":{"token":"x"}}`)
	ask(delegating, 403, "POST", reviewsOfAccess, `{"spec":{"user":"bob","nonResourceAttributes":{"path":"/","verb":"get"}}}`)
	ask(admin, 201, "POST", bindingsOfSystem, rightsOfExtension+`"Role","name":"extension-apiserver-authentication-reader"}}`)
	ask(admin, 201, "POST", clusterBindings, rightsOfExtension+`"ClusterRole","name":"system:auth-delegator"}}`)

	ask(delegating, 200, "GET", authenticationInfo, "")
	ask(delegating, 403, "GET", configMapsOfSystem, "")
	ask(delegating, 200, "GET", configMapsOfSystem+onlyAuthenticationInfo, "")
	assert.Contains(t, ask(delegating, 200, "GET", configMapsOfSystem+onlyAuthenticationInfo+"&watch=true&timeoutSeconds=1", ""), `"type":"ADDED"`)

	tokenOf := func(token string) authenticationv1.TokenReviewStatus {
		return objectOf[authenticationv1.TokenReview](t, ask(delegating, 201, "POST", reviewsOfTokens, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"`+token+`"},"status":{"user":{}}}`)).Status
	}
	assert.Equal(t, authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "bob", UID: "2", Groups: []string{"builders", "testers", "system:authenticated"}}}, tokenOf(rightToken))
	assert.Equal(t, authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}, tokenOf("wrong"))

	access := func(attributes string) authorizationv1.SubjectAccessReviewStatus {
		return objectOf[authorizationv1.SubjectAccessReview](t, ask(delegating, 201, "POST", reviewsOfAccess, `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"user":"bob",`+
			`"groups":["builders","system:authenticated"],"uid":"2","extra":{"example.com/scopes":["a","b"]},`+attributes+`},"status":{"allowed":false}}`)).Status
	}
	const flunders = `"resourceAttributes":{"namespace":"default","verb":"list","group":"wardle.example.com","version":"v1","resource":"flunders",
"fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":["a"]}]},"labelSelector":{"requirements":[{"key":"app","operator":"Exists"}]}}`
	assert.Equal(t, authorizationv1.SubjectAccessReviewStatus{}, access(flunders))
	assert.True(t, access(`"nonResourceAttributes":{"path":"/healthz","verb":"get"}`).Allowed)
	ask(admin, 201, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"flunders"},"rules":[{"apiGroups":["wardle.example.com"],"resources":["flunders"],"verbs":["list"]}]}`)
	ask(admin, 201, "POST", clusterBindings, `{"metadata":{"name":"flunders"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"builders"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"flunders"}}`)
	assert.Equal(t, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by ClusterRoleBinding "flunders" of ClusterRole "flunders" to Group "builders"`}, access(flunders))

	proxied := []string{"X-Remote-User: dora", "X-Remote-Uid: 4", "X-Remote-Group: a", "X-Remote-Extra-Example.com%2Fscopes: b", "X-Remote-Extra-Example.com%2Fscopes: c"}
	assert.Equal(t, authenticationv1.UserInfo{Username: "dora", UID: "4", Groups: []string{"a", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"example.com/scopes": {"b", "c"}}},
		objectOf[authenticationv1.SelfSubjectReview](t, ask(w.proxy("front-proxy", proxied...), 201, "POST", reviewOfOneself, aSelfSubjectReview)).Status.UserInfo)
	assert.Equal(t, authenticationv1.UserInfo{Username: "bob", UID: "2", Groups: []string{"builders", "testers", "system:authenticated"}},
		objectOf[authenticationv1.SelfSubjectReview](t, ask(bearer(rightToken).as(proxied...), 201, "POST", reviewOfOneself, aSelfSubjectReview)).Status.UserInfo, "only the proxy is believed")
}
