package aggregation

import "fmt"

const rbac = "/apis/rbac.authorization.k8s.io/v1/"

// allow lets a user or a group do something, by a rule of RBAC.
func allow(name, kind, who, rule string) []Step {
	return []Step{
		send("POST "+rbac+"clusterroles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":[%s]}`, name, rule)),
		send("POST "+rbac+"clusterrolebindings", fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q}]}`,
			name, name, kind, who)),
	}
}

// identity is about whom the extension server takes the caller for, and who gets there.
func identity() (steps []Step) {
	steps = served("v1.a.example.com", "a")
	const readThings = `{"apiGroups":["a.example.com"],"resources":["things"],"verbs":["get","list","watch"]}`
	steps = append(steps, allow("devs", "Group", "dev", readThings)...)
	steps = append(steps, allow("nobody", "Group", "system:unauthenticated", readThings)...)
	steps = append(steps, allow("named", "User", "remote", readThings)...)
	steps = append(steps, allow("dave", "User", "dave", readThings+`,{"nonResourceURLs":["/apis/a.example.com/v1/extra/*"],"verbs":["get"]}`)...)
	steps = append(steps, allow("accounts", "Group", "system:serviceaccounts", readThings)...)
	steps = append(steps, allow("imitators", "User", "carol", `{"apiGroups":["","authentication.k8s.io"],"resources":["users","groups","uids","userextras/scopes"],"verbs":["impersonate"]}`)...)
	for _, who := range []string{"alice", "nobody", "carol", "dave"} {
		steps = append(steps, ask("GET "+things).as(who).until("status 200"))
	}
	remoteUser := []string{"X-Remote-User: remote", "X-Remote-Group: one", "X-Remote-Group: two", "X-Remote-Uid: 77", "X-Remote-Extra-Scopes: read", "X-Remote-Extra-Scopes: write", "X-Remote-Extra-Example.com%2fKey: v"}
	steps = append(steps,
		ask("GET "+things, remoteUser...).as("proxy").until("status 200"),
		ask("GET "+things),
		ask("GET "+things).as("bob"),
		ask("GET /apis/a.example.com/v1").as("bob"),
		ask("GET /apis/a.example.com/v1").as("nobody"),
		ask("GET /apis/a.example.com").as("bob"),
		ask("GET /apis/a.example.com/v1/extra/x").as("bob"),
		ask("GET /apis/a.example.com/v1/extra/x").as("dave"),
		ask("GET /apis/a.example.com/v1/extra").as("dave"),
		ask("POST "+things).as("alice"),
		ask("DELETE "+things).as("alice"),
		ask("GET "+things+"?watch=true").as("alice"),
		ask("GET "+things+"/x/status").as("alice"),
		ask("GET /apis/a.example.com/v1/things").as("alice"),
		ask("GET /apis/a.example.com/v1/namespaces/other/things/y").as("alice"),
		ask("PATCH "+things+"/x").as("alice"),
		ask("GET "+things, remoteUser...).as("other proxy"),
		ask("GET "+things, remoteUser...).as("alice"),
		ask("GET "+things, remoteUser...).as("bob"),
		ask("GET "+things, remoteUser...),
		ask("GET "+things, "X-Remote-User: remote", "Authorization: Bearer token-of-alice").as("proxy"),
		ask("GET "+things, "X-Remote-Group: dev").as("proxy"),
		ask("GET "+things, "Authorization: Bearer wrong").as("nobody"),
		ask("GET "+things, "Authorization: Basic YTpi").as("nobody"),
		ask("GET "+things, "Cookie: a=b", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: elsewhere", "Via: 1.1 other", "Forwarded: for=10.0.0.1", "X-Real-Ip: 10.0.0.2"),
		ask("GET "+things, "Te: trailers", "Connection: X-Own", "X-Own: 1", "Keep-Alive: 5", "Proxy-Authorization: Basic YTpi", "Proxy-Connection: close"),
		ask("GET "+things, "Audit-Id: mine", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
		ask("GET "+things, "Impersonate-User: alice"),
		ask("GET "+things, "Impersonate-User: alice", "Impersonate-Group: dev", "Impersonate-Group: x", "Impersonate-Uid: 5", "Impersonate-Extra-Scopes: one", "Impersonate-Extra-Scopes: two", "Impersonate-Extra-Example.com%2fkey: v"),
		ask("GET "+things, "Impersonate-User: Zoë / ü", "Impersonate-Group: dev", "Impersonate-Group: größe"),
		ask("GET "+things, "Impersonate-User: system:serviceaccount:default:one"),
		ask("GET "+things, "Impersonate-User: system:anonymous"),
		ask("GET "+things, "Impersonate-Group: dev"),
		ask("GET "+things, "Impersonate-User: alice", "Impersonate-Group: dev").as("carol").until("status 200"),
		ask("GET "+things, "Impersonate-User: alice", "Impersonate-Group: dev", "Impersonate-Uid: 9", "Impersonate-Extra-Scopes: s").as("carol"),
		ask("GET "+things, "Impersonate-User: alice", "Impersonate-Extra-Other: s").as("carol"),
		ask("GET "+things, "Impersonate-User: alice").as("bob"),
		ask("GET "+things, append(remoteUser, "Impersonate-User: alice")...).as("proxy"),
		send("POST /api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"one"}}`),
		Step{Ask: "POST /api/v1/namespaces/default/serviceaccounts/one/token", Body: `{"spec":{}}`, Token: "one"},
		ask("GET "+things).as("one").until("status 200"),
		ask("POST "+things).as("one"),
	)
	for _, who := range []string{"", "bob", "alice", "proxy"} {
		steps = append(steps, ask("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").as(who).pick("certificates"))
	}
	return append(steps,
		ask("GET /apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader"),
		Step{Own: "a", Until: "/apis/a.example.com/v1 "})
}

// proxied is about what is passed to and fro.
func proxied() (steps []Step) {
	steps = append(served("v1.a.example.com", "a"), ask("GET "+things).until("status 200"))
	for _, request := range []string{"GET " + things + "?a=1&b=%20x&a=2&c", "GET " + things + "?b=2&a=1;c=3", "GET " + things + "?q=%zz", "GET " + things + "?limit=x&labelSelector=a%3Db", "GET " + things + "/", "GET " + things + "/a%2Fb",
		"GET " + things + "/a%20b+c", "GET " + things + "//x", "GET " + things + "/../x", "GET " + things + "/%2e%2e/x", "GET /apis/a.example.com/v1/", "GET /apis/a.example.com/v1?x=1", "GET /apis/a.example.com//v1", "GET /apis/a.example.com/v1beta1/things",
		"HEAD " + things, "OPTIONS " + things, "TRACE " + things, "GET " + things + "/ü", "GET /apis/a.example.com/v1/namespaces/default/things/x/proxy/y", "GET " + things + "?timeoutSeconds=1&watch=x", "GET " + things + "?timeout=1x", "GET " + things + "?timeout=1s"} {
		steps = append(steps, ask(request))
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OTHER"} {
		steps = append(steps, Step{Ask: method + " " + things + "/x?dryRun=All", Body: `{"kind":"Thing","text":"<&>"}`})
	}
	steps = append(steps, Step{Ask: "POST " + things, Body: "no JSON", Headers: []string{"X-Own: one", "X-Own: two", "Accept: application/yaml, */*", "Accept-Encoding: gzip"}})
	for _, answer := range []struct {
		name    string
		status  int
		body    string
		headers []string
	}{
		{"moved", 301, "", []string{"Location: " + things + "/new"}}, {"found", 302, "there", []string{"Location: https://other.example.com/x?y=1"}}, {"self", 307, "", []string{"Location: https://127.0.0.1:1/apis"}},
		{"relative", 303, "", []string{"Location: ../x"}}, {"unchanged", 304, "", []string{"Etag: \"x\""}}, {"teapot", 418, "I am one", []string{"Content-Type: text/plain"}}, {"broken", 500, `{"kind":"Status","code":500}`, []string{"Content-Type: application/json"}},
		{"unauthorized", 401, "", []string{"Www-Authenticate: Basic realm=x"}}, {"busy", 429, "", []string{"Retry-After: 7"}}, {"nothing", 204, "", nil}, {"html", 200, "<a href=\"/apis/x\">x</a>", []string{"Content-Type: text/html"}}, {"none", 200, "no type", nil},
		{"headers", 200, "ok", []string{"Content-Type: text/plain", "Set-Cookie: a=b", "Set-Cookie: c=d", "Warning: 299 - \"careful\"", "Access-Control-Allow-Origin: *", "Cache-Control: public", "X-Own: 1", "X-Own: 2", "Audit-Id: theirs", "Server: ext", "Via: x",
			"Strict-Transport-Security: max-age=1", "X-Kubernetes-Pf-Flowschema-Uid: theirs", "Proxy-Authenticate: Basic", "Trailer: X", "Keep-Alive: 3"}},
	} {
		steps = append(steps, script("a", things+"/"+answer.name, answer.status, answer.body, answer.headers...), ask("GET "+things+"/"+answer.name))
	}
	steps = append(steps, script("a", "/apis/a.example.com/v1", 302, "", "Location: /apis/b.example.com/v1"), ask("GET /apis/a.example.com/v1"), script("a", "/apis/a.example.com/v1", 0, ""))
	for _, wrong := range []string{"close", "close in the middle", "large", "gzip"} {
		steps = append(steps, ask("GET "+things, doHeader+": "+wrong), ask("GET "+things, doHeader+": "+wrong, "Accept-Encoding: gzip"))
	}
	lines := func(s Step, n int) Step { s.Lines = n; return s }
	steps = append(steps, lines(ask("GET "+things, doHeader+": endless"), 3), Step{Idle: "a", Until: "true"},
		lines(ask("GET "+things+"?watch=true", doHeader+": stream"), 1), Step{Idle: "a", Until: "true"},
		lines(ask("GET "+things, doHeader+": stream"), 1), Step{Idle: "a", Until: "true"})
	for _, protocol := range []string{"websocket", "SPDY/3.1", "other"} {
		up := ask("GET "+things+"/x?a=1", "Connection: Upgrade", "Upgrade: "+protocol, "X-Remote-User: me", "Impersonate-User: alice", "Impersonate-Group: system:masters")
		up.Say = "hello"
		steps = append(steps, up)
	}
	steps = append(steps, ask("POST "+things+"/x", "Connection: Upgrade", "Upgrade: websocket").as("alice"),
		script("a", things+"/refuses", 403, "no", "Content-Type: text/plain"), ask("GET "+things+"/refuses", "Connection: Upgrade", "Upgrade: websocket"),
		script("a", things+"/leads", 302, "", "Location: /x"), ask("GET "+things+"/leads", "Connection: Upgrade", "Upgrade: websocket"),
		ask("GET "+things+"/x", "Upgrade: websocket"), Step{Idle: "a", Until: "true"})
	return steps
}
