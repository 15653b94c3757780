package today

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// KnownOfKubectl has, by session, what kubectl prints here otherwise than on the recorded
// server.
var KnownOfKubectl = map[string][]Edit{}

// KnownInMemory has what kubectl prints otherwise on a server without etcd.
var KnownInMemory = map[string][]Edit{
	"other kinds": {{"K1", "40 $K get componentstatuses -o name | LC_ALL=C sort", `componentstatus/etcd-0\n`, ""}},
}

// KnownWithoutSecurePort has what kubectl prints otherwise on a server that has only the insecure port.
var KnownWithoutSecurePort = map[string][]Edit{
	"pod life": {{"K1", "24 $K get po,svc,rc -o name", "\nservice/kubernetes", ""}},
}

// AtInsecurePort returns what kubectl prints otherwise in a session with such a server.
func AtInsecurePort(session string) []Edit {
	return slices.Concat(KnownOfKubectl[session], KnownWithoutSecurePort[session])
}

// KnownWithoutAddresses has what kubectl prints otherwise on a server whose services have no addresses.
var KnownWithoutAddresses = map[string][]Edit{
	"namespaces": {{"K4", "16 $K -n dev get svc s -o jsonpath='{.spec.type} {.spec.ports[0].port} {.spec.ipFamilies} {.spec.internalTrafficPolicy}'", `\["IPv4"\] `, " "}},
}

// KnownOfRequests is what is answered here otherwise than on the recorded server, which is
// on etcd; in memory there is none to be checked.
func KnownOfRequests(onEtcd bool) []Edit {
	known := []Edit{
		{"K1", "70 GET /api/v1/namespaces/default/services", `(?s)    \{\n      "cells": \[\n        "kubernetes".*?\n    \}\n`, ""},
		{"K4", "69 POST /api/v1/namespaces/default/services", `(?ms)^ +"clusterIP": .*?\]\n`, ""},
		{"K4", "69 POST /api/v1/namespaces/default/services", `(?ms)^ +"ipFamilies": .*?"ipFamilyPolicy": .*?\n`, ""},
		{"K4", "70 GET /api/v1/namespaces/default/services", `"10\.0\.0\.182"`, `"\u003cnone\u003e"`},
		// The first door's answers.
		{"K5", "55 GET /", `(?s).*`, "status 200\nContent-Type: text/html; charset=utf-8\n\n<html><body>Welcome to Kubernetes</body></html>"},
		{"K5", "56 GET /nope", `404 page not found\n`, "Not Found: GET /nope"},
		{"K9", "26 POST /api/v1/namespaces/default/pods", ` in scheme \\"pkg/runtime/scheme.go:111\\"`, ""},
		{"K28", "43 GET /api/v1/namespaces/default/pods?watch=1&resourceVersion=9223372036854775807&timeoutSeconds=1", `(?s).*`, tooLarge},
		{"K10", "80 DELETE /api/v1/namespaces/default/pods/one", `"deletionGracePeriodSeconds": 30`, `"deletionGracePeriodSeconds": 0`},
		{"K11", "63 POST /apis/authentication.k8s.io/v1/selfsubjectreviews", `"username": "admin"\n +"uid": "1"`, `"username": "system:unsecured"`},
	}
	for _, left := range leftOut {
		for name := range strings.FieldsSeq(left.names) {
			if onEtcd && name == "etcd" {
				continue
			}
			known = append(known, Edit{left.k, left.step, fmt.Sprintf(left.element, regexp.QuoteMeta(name)), ""})
		}
	}
	return known
}

// tooLarge is the answer to a watch from a version of the future.
const tooLarge = `status 410
Content-Type: application/json
JSON on one line: true, ends its last line: true

{
  "kind": "Status"
  "apiVersion": "v1"
  "metadata": {}
  "status": "Failure"
  "message": "Too large resource version: 9223372036854775807, current: 1"
  "reason": "Expired"
  "code": 410
}
`

// leftOut has what a document of the recorded server lists and ours does not: with the
// element of such a name in the form in which answers are compared.
var leftOut = []struct{ k, step, element, names string }{
	{"K2", "50 GET /api/v1", `(?ms)^    \{\n +"name": "%s"\n.*?^    \}\n`, `serviceaccounts/token`},
	{"K2", "52 GET /apis", `(?ms)^    \{\n +"name": "%s"\n.*?^    \}\n`, `rbac.authorization.k8s.io`},
	{"K14", "59 GET /livez?verbose", `(?m)^\[\+\]%s ok\n`, checks + "loopback-serving-certificate"},
	{"K14", "60 GET /readyz?verbose", `(?m)^\[\+\]%s ok\n`, checks + "etcd-readiness informer-sync shutdown"},
	{"K2", "61 GET /openapi/v3", `(?ms)^    "%s": \{\n.*?^    \}\n`, `.well-known/openid-configuration
		api apis apis/admissionregistration.k8s.io apis/admissionregistration.k8s.io/v1 apis/apiextensions.k8s.io
		apis/apiextensions.k8s.io/v1 apis/apiregistration.k8s.io apis/apiregistration.k8s.io/v1 apis/apps apis/apps/v1
		apis/authentication.k8s.io apis/authentication.k8s.io/v1 apis/authorization.k8s.io apis/authorization.k8s.io/v1
		apis/autoscaling apis/autoscaling/v1 apis/autoscaling/v2 apis/batch apis/batch/v1 apis/certificates.k8s.io
		apis/certificates.k8s.io/v1 apis/coordination.k8s.io apis/coordination.k8s.io/v1 apis/discovery.k8s.io
		apis/discovery.k8s.io/v1`},
}

const checks = `log etcd autoregister-completion poststarthook/start-apiserver-admission-initializer
	poststarthook/generic-apiserver-start-informers poststarthook/priority-and-fairness-config-consumer
	poststarthook/priority-and-fairness-filter poststarthook/storage-object-count-tracker-hook
	poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers
	poststarthook/crd-informer-synced poststarthook/start-system-namespaces-controller
	poststarthook/peer-endpoint-reconciler-controller poststarthook/start-cluster-authentication-info-controller
	poststarthook/start-kube-apiserver-identity-lease-controller
	poststarthook/start-kube-apiserver-identity-lease-garbage-collector poststarthook/storage-readiness
	poststarthook/start-legacy-token-tracking-controller poststarthook/start-service-ip-repair-controllers
	poststarthook/scheduling/bootstrap-system-priority-classes poststarthook/priority-and-fairness-config-producer
	poststarthook/bootstrap-controller poststarthook/start-kubernetes-service-cidr-controller
	poststarthook/start-kube-aggregator-informers poststarthook/apiservice-status-local-available-controller
	poststarthook/apiservice-status-remote-available-controller poststarthook/apiservice-registration-controller
	poststarthook/apiservice-discovery-controller poststarthook/kube-apiserver-autoregistration
	poststarthook/apiservice-openapi-controller poststarthook/apiservice-openapiv3-controller `

// KnownOfPolicies has what webhooks and policies answer here otherwise than on the recorded server.
var KnownOfPolicies = []Edit{
	{"K86", "429 PATCH /api/v1/namespaces/default/configmaps/l2", `(?s)(\n {6}\{\n +"reason": "FieldValueInvalid".*?\n {6}\})\n {6}\{.*?\n {6}\}`, "$1"},
	{"K98", "486 PATCH /apis/apps/v1/namespaces/default/deployments/d/scale", `(?s).*`, scaled},
	{"K98", "596 GET /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/check-bad", `("observedGeneration": 2)`, "$1\n    \"typeChecking\": {}"},
	{"K103", "602 POST /api/v1/namespaces/default/pods", `( +)"status": \{\}`, pending},
	{"K103", "607 POST /api/v1/namespaces/default/pods", `( +)"status": \{\}`, pending},
	{"K99", "230 POST /apis/example.com/v1/limits", `(?s)(  "max": 2\n)(.*)\}\n$`, "$2$1}\n"},
}

// pending is the status of a new pod.
const pending = "${1}\"status\": {\n${1}  \"phase\": \"Pending\"\n${1}}"

// scaled is the answer to a policy that applies a configuration at a scale.
const scaled = `status 200
Content-Type: application/json
JSON on one line: true, ends its last line: true

{
  "kind": "Scale"
  "apiVersion": "autoscaling/v1"
  "metadata": {
    "name": "d"
    "namespace": "default"
    "uid": "UID"
    "resourceVersion": "RV"
    "creationTimestamp": "TIME"
  }
  "spec": {
    "replicas": 4
  }
  "status": {
    "replicas": 0
    "selector": "a=b"
  }
}
`
