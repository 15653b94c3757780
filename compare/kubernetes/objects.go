package main

import (
	"fmt"

	"kube2014/bench/measure"
)

const (
	podsPath    = "/api/v1/namespaces/default/pods"
	connections = 16 // of the load
	asTable     = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	asProtobuf  = "Accept: application/vnd.kubernetes.protobuf"
)

// request returns a request to either side: ours passes over the token.
func request(method, path string, body []byte, headers ...string) []byte {
	headers = append(headers, authorization)
	if body != nil {
		kind := "application/json"
		if method == "PATCH" {
			kind = "application/merge-patch+json"
		}
		headers = append(headers, "Content-Type: "+kind)
	}
	return measure.Request(method, path, body, headers...)
}

// post returns the request that creates a pod: one container with a host port that is once
// on each machine, so that the pods spread over them. A hundredth of the pods are in one
// group.
func post(name string, i, hostPort int) []byte {
	return request("POST", podsPath, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"name":"web","tier":"front","group":"g%d"}},`+
		`"spec":{"containers":[{"name":"nginx","image":"nginx:1.8","ports":[{"hostPort":%d,"containerPort":80}]}]}}`, name, i%100, hostPort+i/machines))
}

// extraPod returns a pod that has its machine from the start, so that nobody else writes it. Its writes differ in the
// annotation.
func extraPod(i int, run string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"name":"web","tier":"front"},"annotations":{"run":%q}},`+
		`"spec":{"nodeName":"m0001","containers":[{"name":"nginx","image":"nginx:1.8","ports":[{"containerPort":80}]}]}}`, extraName(i), run)
}

func createExtra(i int) []byte  { return request("POST", podsPath, extraPod(i, "none")) }
func replaceExtra(i int) []byte { return request("PUT", podsPath+"/"+extraName(i), extraPod(i, "put")) }

func applyExtra(i int) []byte {
	return measure.Request("PATCH", podsPath+"/"+extraName(i)+"?fieldManager=applier&force=true", extraPod(i, "apply"),
		authorization, "Content-Type: application/apply-patch+yaml")
}

func podName(i int) string { return fmt.Sprintf("pod-%06d", i) }

// create creates the pods from one number to another.
func (s *side) create(from, to int) error {
	_, err := s.SendAll(connections, to-from, func(i int) []byte { return post(podName(from+i), from+i, 1000) })
	return err
}

// createAndDelete creates n more pods, passes on how many it created in a second, and
// deletes them.
func (s *side) createAndDelete(n int) (float64, error) {
	took, err := s.SendAll(connections, n, func(i int) []byte { return post(extraName(i), i, 20000) })
	if err != nil {
		return 0, err
	}
	return float64(n) / took.Seconds(), s.deleteExtra(n)
}

// createAndWrite creates n more pods, passes on how many of them it wrote again in a second, and deletes them.
func (s *side) createAndWrite(n int, write func(i int) []byte) (float64, error) {
	if _, err := s.SendAll(connections, n, createExtra); err != nil {
		return 0, err
	}
	took, err := s.SendAll(connections, n, write)
	if err != nil {
		return 0, err
	}
	return float64(n) / took.Seconds(), s.deleteExtra(n)
}

func extraName(i int) string { return fmt.Sprintf("extra-%06d", i) }

func (s *side) deleteExtra(n int) error {
	_, err := s.SendAll(connections, n, func(i int) []byte { return request("DELETE", podsPath+"/"+extraName(i)+"?gracePeriodSeconds=0", nil) })
	return err
}

// change changes one pod, so that no answer of before can be given again.
func change(run int) []byte {
	return request("PATCH", podsPath+"/"+podName(1), fmt.Appendf(nil, `{"metadata":{"annotations":{"run":"%d"}}}`, run))
}
