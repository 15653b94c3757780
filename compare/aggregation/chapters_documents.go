package aggregation

import (
	"fmt"
	"strings"
)

// discovery is about the documents of all groups.
func discovery() (steps []Step) {
	documents := func(until string) {
		steps = append(steps, ask("GET /apis", v2).pick("groups").until(until), ask("GET /apis").pick("groups").until("List"))
	}
	groupsOf := func(names ...string) {
		for _, name := range names {
			steps = append(steps, ask("GET /apis/"+name))
		}
	}
	steps = append(steps, external("a"), external("b"))
	documents("List")
	steps = append(steps, ask("GET /apis", v2beta1), ask("GET /apis", v2beta1+", application/json").pick("groups"), ask("GET /apis", v2+";profile=nopeer").pick("groups"), ask("GET /apis", jsonAccept+", "+strings.TrimPrefix(v2, "Accept: ")).pick("groups"))
	// One server, then two versions at two servers.
	steps = append(steps, remote("v1.a.example.com", "a", "a", ca), condition("v1.a.example.com", available))
	documents(`"resource": "things"`)
	steps = append(steps, remote("v2.a.example.com", "b", "b", ca), condition("v2.a.example.com", available))
	documents(`"version": "v2",
   "resources"`)
	groupsOf("a.example.com")
	for _, priorities := range []string{`{"spec":{"versionPriority":100}}`, `{"spec":{"versionPriority":10,"groupPriorityMinimum":17900}}`, `{"spec":{"groupPriorityMinimum":1}}`} {
		steps = append(steps, send("PATCH "+apiServices+"/v1.a.example.com", priorities), remote("v1.m.example.com", "b", "b", ca), condition("v1.m.example.com", available))
		documents(`"name": "m.example.com"
 },
 "versions": [
  {
   "version": "v1",
   "resources"`)
		steps = append(steps, ask("GET /apis/a.example.com"), send("DELETE "+apiServices+"/v1.m.example.com", ""))
		documents("!m.example.com")
	}
	// A server that goes away is stale.
	steps = append(steps, script("b", "/apis/a.example.com/v2", 500, ""), touch("v2.a.example.com", "1"), condition("v2.a.example.com", "FailedDiscoveryCheck"))
	documents("Stale")
	groupsOf("a.example.com")
	steps = append(steps, ask("GET /apis/a.example.com/v2"), script("b", "/apis/a.example.com/v2", 0, ""), touch("v2.a.example.com", "2"), condition("v2.a.example.com", available))
	documents("!Stale")
	// A server with the newest discovery, which tells of more groups than it should.
	item := func(group, version, resource string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"creationTimestamp":null},"versions":[{"version":%q,"freshness":"Current","resources":[{"resource":%q,"responseKind":{"group":%q,"version":%q,"kind":"Gadget"},"scope":"Cluster","singularResource":"gadget","verbs":["list"],"shortNames":["gd"],`+
			`"subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":""},"verbs":["get"]}]}]}]}`, group, version, resource, group, version)
	}
	list := func(version string, items ...string) string {
		return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/` + version + `","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
	}
	for i, version := range []string{"v2", "v2beta1"} {
		server := []string{"c", "d"}[i]
		group := version + ".example.com"
		steps = append(steps, external(server), script(server, "/apis", 200, list(version, item("liar.example.com", "v1", "lies"), item(group, "v1", "gadgets"), item(group, "v3", "hidden"), item("apps", "v1", "deployments")),
			"Content-Type: application/json;g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList", "Etag: \"ours\""),
			remote("v1."+group, server, server, ca), condition("v1."+group, available))
		documents(`"version": "v1",
   "resources": [
    {
     "resource": "gadgets"`)
		groupsOf(group, "liar.example.com")
	}
	// Documents that are none.
	for i, body := range []string{"rubbish", `{"kind":"APIGroupDiscoveryList","items":7}`, `{"kind":"Other"}`, list("v2")} {
		group := fmt.Sprintf("bad%d.example.com", i)
		server := []string{"e", "e", "e", "f"}[i] // the last one is a list
		steps = append(steps, external(server), script(server, "/apis", 200, body, "Content-Type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
			remote("v1."+group, server, server, ca), condition("v1."+group, available), ask("GET /apis", v2).pick("groups").until(group))
	}
	for i, body := range []string{"rubbish", `{"kind":"APIResourceList","groupVersion":"other/v1","resources":[{"name":"x","kind":"X","verbs":["get"]},{"name":"y/status","kind":"Y","verbs":["get"]}]}`,
		`{"kind":"APIResourceList","groupVersion":"","resources":[]}`} {
		group := fmt.Sprintf("old%d.example.com", i)
		steps = append(steps, script("a", "/apis/"+group+"/v1", 200, body, "Content-Type: application/json"),
			remote("v1."+group, "a", "a", ca), condition("v1."+group, available), ask("GET /apis", v2).pick("groups").until(group))
	}
	documents("old2")
	steps = append(steps, send("DELETE "+apiServices+"/v2.a.example.com", ""), ask("GET /apis/a.example.com").until(`"preferredVersion": {
  "groupVersion": "a.example.com/v1"`), Step{Own: "a", Until: "/apis/a.example.com/v1 "}, Step{Own: "b", Until: "/apis/a.example.com/v2 "})
	return steps
}

// openapi is about the documents that describe all groups.
func openapi() (steps []Step) {
	const definition = `{"type":"object","description":"%s","properties":{"metadata":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},"size":{"type":"integer"}},"x-kubernetes-group-version-kind":[{"group":"a.example.com","version":"v1","kind":"Thing"}]}`
	path := func(id, ref string) string {
		return fmt.Sprintf(`{"get":{"operationId":%q,"tags":["x"],"produces":["application/json"],"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/%s"}}}}}`, id, ref)
	}
	spec := func(paths, definitions string) string {
		return `{"swagger":"2.0","info":{"title":"ext","version":"1"},"paths":{` + paths + `},"definitions":{` + definitions + `}}`
	}
	meta := `"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"type":"object","description":"other","properties":{"own":{"type":"string"}}}`
	steps = append(steps, external("a"), external("b"),
		script("a", "/openapi/v2", 200, spec(`"/apis/a.example.com/v1/things":`+path("listThings", "com.example.Thing")+`,"/apis/other.example.com/v1/things":`+path("listOther", "com.example.Other")+`,"/version/":`+path("getVersion", "com.example.Version"),
			`"com.example.Thing":`+fmt.Sprintf(definition, "of a")+`,"com.example.Other":{"type":"object"},"com.example.Unused":{"type":"string"},`+meta), "Content-Type: application/json", "Etag: \"1\""),
		script("b", "/openapi/v2", 200, spec(`"/apis/b.example.com/v1/things":`+path("listThings", "com.example.Thing")+`,"/apis/a.example.com/v1/stolen":`+path("listStolen", "com.example.Thing"),
			`"com.example.Thing":`+fmt.Sprintf(definition, "of b")+`,`+meta), "Content-Type: application/json"))
	v3 := func(group string) string {
		return `{"openapi":"3.0.0","info":{"title":"ext","version":"1"},"paths":{"/apis/` + group + `/v1/things":{"get":{"operationId":"x"}}},"components":{"schemas":{"com.example.Thing":{"type":"object"}}}}`
	}
	steps = append(steps, script("a", "/openapi/v3", 200, `{"paths":{"apis/a.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/a.example.com/v1?hash=ABC"},"apis/liar.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/liar.example.com/v1?hash=DEF"},"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=GHI"}}}`, "Content-Type: application/json"),
		script("a", "/openapi/v3/apis/a.example.com/v1", 200, v3("a.example.com"), "Content-Type: application/json", "Etag: \"3\""),
		remote("v1.a.example.com", "a", "a", ca), condition("v1.a.example.com", available), remote("v1.b.example.com", "b", "b", ca), condition("v1.b.example.com", available))
	steps = append(steps, ask("GET /openapi/v2", jsonAccept).pick("openapi").until("b.example.com"), ask("GET /openapi/v3", jsonAccept).pick("openapi").until("b.example.com"))
	for _, request := range []string{"/openapi/v3/apis/a.example.com/v1", "/openapi/v3/apis/a.example.com/v1?hash=ABC", "/openapi/v3/apis/a.example.com/v1?hash=OLD", "/openapi/v3/apis/b.example.com/v1", "/openapi/v3/apis/liar.example.com/v1", "/openapi/v3/apis/a.example.com", "/openapi/v3/apis/none.example.com/v1"} {
		steps = append(steps, ask("GET "+request, jsonAccept))
	}
	steps = append(steps, ask("HEAD /openapi/v3/apis/a.example.com/v1"), ask("GET /openapi/v3/apis/a.example.com/v1", "If-None-Match: \"3\""), ask("GET /openapi/v3/apis/a.example.com/v1").as("bob"), ask("GET /openapi/v3/apis/a.example.com/v1").as("nobody"))
	// The documents follow the extension server and its APIService.
	steps = append(steps, send("DELETE "+apiServices+"/v1.a.example.com", ""), ask("GET /openapi/v3", jsonAccept).pick("openapi").until("!a.example.com"), ask("GET /openapi/v2", jsonAccept).pick("openapi").until("!/a.example.com/v1/things"), ask("GET /openapi/v3/apis/a.example.com/v1").until("status 404"),
		Step{Own: "a", Until: "/openapi/v2 "}, Step{Own: "b", Until: "/openapi/v3 "})
	return steps
}

// local is about APIServices of groups that the server has itself.
func local() (steps []Step) {
	definition := func(group string) string {
		return fmt.Sprintf(`{"metadata":{"name":"gadgets.%s"},"spec":{"group":%q,"names":{"plural":"gadgets","kind":"Gadget"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, group, group)
	}
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	gadgets := func(group string) string { return "GET /apis/" + group + "/v1/namespaces/default/gadgets" }
	locally := func(name string) Step {
		version, group, _ := strings.Cut(name, ".")
		return send("POST "+apiServices, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"group":%q,"version":%q,"groupPriorityMinimum":1000,"versionPriority":10}}`, name, group, version))
	}
	backTo := func(name string) []Step {
		return []Step{send("PATCH "+apiServices+"/"+name, `{"spec":{"service":null,"caBundle":null}}`), condition(name, "Local")}
	}
	moved := func(name, service string) Step {
		return send("PATCH "+apiServices+"/"+name, fmt.Sprintf(`{"spec":{"service":{"namespace":"default","name":%q,"port":$PORT_a},"caBundle":"$CA"}}`, service))
	}
	steps = []Step{external("a"),
		locally("v1.nothing.example.com"), condition("v1.nothing.example.com", "Local"), ask("GET /apis/nothing.example.com/v1"), ask("GET /apis/nothing.example.com").until("status 200"), ask(gadgets("nothing.example.com")), ask("GET /apis").pick("groups"), ask("GET /apis", v2).pick("groups"),
		// The definition after the APIService.
		remote("v1.first.example.com", "a", "a", ca), condition("v1.first.example.com", available), send("POST "+crds, definition("first.example.com")),
		ask("GET " + crds + "/gadgets.first.example.com").pick("nothing"), ask(gadgets("first.example.com")).until("status 200"), condition("v1.first.example.com", available),
		ask("GET /apis/first.example.com/v1"), ask("GET /apis", v2).pick("groups"),
		send("DELETE "+apiServices+"/v1.first.example.com", ""), condition("v1.first.example.com", "Local"), ask(gadgets("first.example.com")).until("status 200\n"),
		// The APIService after the definition.
		send("POST "+crds, definition("second.example.com")), condition("v1.second.example.com", "Local"), ask(gadgets("second.example.com")).until("status 200"),
		remote("v1.second.example.com", "a", "a", ca), moved("v1.second.example.com", "a"), condition("v1.second.example.com", "Local"), ask(gadgets("second.example.com")).until("GadgetList"),
		send("PATCH "+apiServices+"/v1.second.example.com", `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}}}`), moved("v1.second.example.com", "a"),
		condition("v1.second.example.com", "Passed"), ask(gadgets("second.example.com")).until("a saw"),
	}
	const deployments = "GET /apis/apps/v1/namespaces/default/deployments"
	steps = append(steps, ask("GET "+apiServices+"/v1.apps"), moved("v1.apps", "none"), condition("v1.apps", "ServiceNotFound"), ask(deployments).until("status 503"), ask("GET /apis/apps/v1"), ask("GET /apis/apps"), ask("GET /apis").pick("groups"),
		moved("v1.apps", "a"), condition("v1.apps", available), ask(deployments).until("a saw"), ask("GET /apis/apps/v1"), ask("GET /apis", v2).pick("groups"))
	steps = append(steps, backTo("v1.apps")...)
	steps = append(steps, ask(deployments).until("DeploymentList"), send("DELETE "+apiServices+"/v1.apps", ""), ask(deployments))
	const own = "v1.apiregistration.k8s.io"
	steps = append(steps, ask("GET "+apiServices+"/"+own), remote(own, "a", "a", ca), condition(own, available), ask("GET "+apiServices+"/"+own).pick("conditions"), ask("GET /apis/apiregistration.k8s.io/v1").pick("nothing"),
		ask("GET /apis/apiregistration.k8s.io"), ask("GET /apis").pick("groups"), send("DELETE "+apiServices+"/"+own, ""))
	steps = append(steps, moved("v1.", "a"), condition("v1.", available), ask("GET /api/v1/namespaces/default/pods").until("a saw"), ask("GET /api/v1"), ask("GET /api"), ask("GET /version").pick("nothing"))
	steps = append(steps, backTo("v1.")...)
	return append(steps, ask("GET /api/v1/namespaces/default/pods").until("PodList"), Step{Own: "a", Until: "/api/v1 "})
}
