package aggregation

import (
	"fmt"
	"strings"
)

// Chapters returns what a server is asked, without answers.
func Chapters() []Chapter {
	return []Chapter{
		{"conditions", conditions()}, {"checks", checks()}, {"unavailable", unavailable()}, {"identity", identity()}, {"proxied", proxied()},
		{"discovery", discovery()}, {"openapi", openapi()}, {"local", local()},
	}
}

const (
	apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
	services    = "/api/v1/namespaces/default/services"
	slicesPath  = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	things      = "/apis/a.example.com/v1/namespaces/default/things"

	available  = "Available True"
	jsonAccept = "Accept: application/json"
)

// ask is a step of the admin.
func ask(request string, headers ...string) Step { return Step{Ask: request, Headers: headers} }

func send(request, body string) Step { return Step{Ask: request, Body: body, Pick: "nothing"} }

// as is the step of somebody else.
func (s Step) as(who string) Step { s.As = who; return s }

func (s Step) until(text string) Step { s.Until = text; return s }

func (s Step) pick(part string) Step { s.Pick = part; return s }

// served makes an APIService, whose service is an external name of this machine.
func served(name, extension string) []Step {
	return []Step{external(extension), remote(name, extension, extension, ca), condition(name, available)}
}

const ca = `"caBundle":"$CA"`

// external makes a service that is an external name of this machine. It may be there already.
func external(name string) Step {
	return send("POST "+services, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"type":"ExternalName","externalName":"localhost"}}`, name))
}

// remote makes an APIService with the port of an extension server, and more members of its spec.
func remote(name, service, extension, more string) Step {
	return remoteAt(name, service, "$PORT_"+extension, more)
}

func remoteAt(name, service, port, more string) Step {
	version, group, _ := strings.Cut(name, ".")
	return send("POST "+apiServices, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"group":%q,"version":%q,"groupPriorityMinimum":1000,"versionPriority":10,`+
		`"service":{"namespace":"default","name":%q,"port":%s},%s}}`, name, group, version, service, port, more))
}

func condition(name, until string) Step {
	return ask("GET " + apiServices + "/" + name).pick("conditions").until(until)
}

// touch changes an APIService, so that it is judged anew.
func touch(name, text string) Step {
	return send("PATCH "+apiServices+"/"+name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, text))
}

func script(server, path string, status int, body string, headers ...string) Step {
	return Step{Script: &Script{Server: server, Path: path, Status: status, Body: body, Headers: headers}}
}

// conditions is about a service with a cluster IP on its way to be available, and back.
func conditions() []Step {
	const name = "v1.a.example.com"
	slice := func(port, endpoints string) string {
		return fmt.Sprintf(`{"metadata":{"name":"one","labels":{"kubernetes.io/service-name":"cluster"}},"addressType":"IPv4","ports":[{"name":%q,"port":443}],"endpoints":[%s]}`, port, endpoints)
	}
	const ready, unready = `{"addresses":["10.1.1.1"]}`, `{"addresses":["10.1.1.1"],"conditions":{"ready":false}}`
	return []Step{
		remote(name, "cluster", "cluster", ca).pick(""),
		condition(name, "ServiceNotFound"),
		ask("GET " + things).until("status 503"),
		send("POST "+services, `{"metadata":{"name":"cluster"},"spec":{"clusterIP":"127.7.0.10","ports":[{"name":"web","port":1}]}}`),
		condition(name, "ServicePortError"),
		send("PATCH "+services+"/cluster", `{"spec":{"ports":[{"name":"web","port":$PORT_cluster}]}}`),
		condition(name, "EndpointsNotFound"),
		send("POST "+slicesPath, slice("web", "")),
		condition(name, "MissingEndpoints"),
		send("PATCH "+slicesPath+"/one", slice("web", unready)),
		condition(name, "MissingEndpoints"),
		send("PATCH "+slicesPath+"/one", slice("other", ready)),
		condition(name, "MissingEndpoints"),
		send("PATCH "+slicesPath+"/one", slice("web", unready+","+ready)),
		condition(name, available),
		ask("GET " + things).until("status 200"),
		ask("GET " + apiServices).pick("nothing"),
		send("DELETE "+slicesPath+"/one", ""),
		condition(name, "EndpointsNotFound"),
		ask("GET " + things).until("status 503"),
		send("PATCH "+services+"/cluster", `{"spec":{"type":"NodePort"}}`),
		condition(name, available),
		ask("GET " + things).until("status 200"),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"service":{"port":444}}}`),
		condition(name, "FailedDiscoveryCheck"),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"service":{"port":$PORT_cluster}}}`),
		condition(name, available),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"service":{"name":"other"}}}`),
		condition(name, "ServiceNotFound"),
		send("POST "+services, `{"metadata":{"name":"other"},"spec":{"clusterIP":"None","ports":[{"name":"web","port":$PORT_cluster}]}}`),
		condition(name, "EndpointsNotFound"),
		send("DELETE "+services+"/other", ""),
		condition(name, "ServiceNotFound"),
		external("other"),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"service":{"port":$PORT_a}}}`),
		condition(name, available),
		ask("GET " + things).until("a saw"),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"caBundle":"$OTHERCA"}}`),
		condition(name, "FailedDiscoveryCheck"),
		send("PATCH "+apiServices+"/"+name, `{"spec":{"caBundle":null,"insecureSkipTLSVerify":true}}`),
		condition(name, available),
		send("DELETE "+apiServices+"/"+name, "").pick(""),
		ask("GET " + things).until("status 404"),
		ask("GET /apis/a.example.com").until("status 404"),
	}
}

// checks is about what the check of an extension server says of what it answers.
func checks() (steps []Step) {
	steps = append(steps, external("a"), external("elsewhere"), external("dead"))
	judge := func(group string, made Step, until string) {
		steps = append(steps, made, condition("v1."+group, until))
	}
	const failed = "FailedDiscoveryCheck"
	judge("dead.example.com", remoteAt("v1.dead.example.com", "dead", "1", ca), failed)
	judge("elsewhere.example.com", remote("v1.elsewhere.example.com", "elsewhere", "elsewhere", ca), failed)
	judge("untrusted.example.com", remote("v1.untrusted.example.com", "a", "a", `"caBundle":"$OTHERCA"`), failed)
	judge("system.example.com", remote("v1.system.example.com", "a", "a", `"insecureSkipTLSVerify":false`), failed)
	judge("skips.example.com", remote("v1.skips.example.com", "elsewhere", "elsewhere", `"insecureSkipTLSVerify":true`), available)
	for _, answer := range []struct {
		group   string
		status  int
		body    string
		headers []string
		until   string
	}{
		{"s404", 404, "none", nil, failed}, {"s500", 500, "broken", nil, failed}, {"s401", 401, "", nil, failed}, {"s403", 403, "", nil, failed}, {"s503", 503, "", []string{"Retry-After: 1"}, failed},
		{"s301", 301, "", []string{"Location: /apis"}, failed}, {"s302", 302, "", []string{"Location: https://other.example.com/"}, failed}, {"s304", 304, "", nil, failed},
		{"s204", 204, "", nil, available}, {"rubbish", 200, "rubbish", []string{"Content-Type: text/plain"}, available}, {"empty", 200, "", nil, available},
	} {
		group := answer.group + ".example.com"
		steps = append(steps, script("a", "/apis/"+group+"/v1", answer.status, answer.body, answer.headers...))
		judge(group, remote("v1."+group, "a", "a", ca), answer.until)
		steps = append(steps, ask("GET /apis/"+group+"/v1").until("status "), ask("GET /apis/"+group+"/v1/things"))
	}
	const hanging = "v1.hangs.example.com"
	steps = append(steps, Step{Script: &Script{Server: "a", Path: "/apis/hangs.example.com/v1", Hangs: true}},
		remote(hanging, "a", "a", ca), condition(hanging, failed), script("a", "/apis/hangs.example.com/v1", 0, ""),
		touch(hanging, "1"), condition(hanging, available), ask("GET /apis/hangs.example.com/v1/things").until("status 200"),
		// The server notices by itself, later, what it is not told.
		script("a", "/apis/hangs.example.com/v1", 500, ""), condition(hanging, failed), ask("GET /apis/hangs.example.com/v1/things").until("status 503"),
		script("a", "/apis/hangs.example.com/v1", 0, ""), condition(hanging, available))
	return steps
}

// unavailable is about what is answered in place of an extension server.
func unavailable() (steps []Step) {
	const name = "v1.a.example.com"
	steps = append(steps, remote(name, "a", "a", ca), condition(name, "ServiceNotFound"), ask("GET /apis/a.example.com/v1").until("status 503"))
	all := func() {
		for _, request := range []string{"GET /apis/a.example.com", "GET /apis/a.example.com/", "GET /apis/a.example.com/v1", "GET /apis/a.example.com/v1/", "GET /apis/a.example.com/v2", "GET " + things,
			"GET " + things + "/x", "POST " + things, "PUT " + things + "/x", "DELETE " + things + "/x", "HEAD " + things, "GET " + things + "?watch=1", "GET /apis/a.example.com/v1/watch/things", "GET /apis/a.example.com/v1alpha1x"} {
			step := ask(request)
			if strings.HasPrefix(request, "P") {
				step.Body = `{"kind":"Thing"}`
			}
			steps = append(steps, step)
		}
		steps = append(steps, ask("GET /apis").pick("groups"), ask("GET /apis", v2).pick("groups"), ask("GET "+things).as("nobody"), ask("GET "+things).as("bob"), ask("GET "+things, "Accept: application/vnd.kubernetes.protobuf"))
	}
	all()
	steps = append(steps, external("a"), condition(name, available), ask("GET "+things).until("status 200"))
	all()
	steps = append(steps, send("DELETE "+services+"/a", ""), condition(name, "ServiceNotFound"), ask("GET "+things).until("status 503"), ask("GET /readyz").pick("nothing"))
	return steps
}

const (
	v2      = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	v2beta1 = "Accept: application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)
