package v1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kube2014/pkg/util/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// seen is a request that a server received: method and URI, type and body, which is JSON also of an object in protobuf.
type seen struct{ line, contentType, body string }

// answer is one of a server.
type answer struct {
	status int
	body   string
}

// serve starts a server that gives these answers in JSON, one after the other. It returns a client
// of it, and the requests.
func serve(t *testing.T, answers ...answer) (*Client, *[]seen) {
	requests := &[]seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		assert.NoError(t, err)
		assert.Contains(t, []string{"application/json", inProtobuf + ",application/json"}, req.Header.Get("Accept"))
		if req.Header.Get("Content-Type") == inProtobuf {
			object, _, err := todays.Decode(body, nil, nil)
			assert.NoError(t, err)
			body, err = json.Marshal(object)
			assert.NoError(t, err)
		}
		*requests = append(*requests, seen{req.Method + " " + req.RequestURI, req.Header.Get("Content-Type"), string(body)})
		if !assert.LessOrEqual(t, len(*requests), len(answers), "a request too many") {
			return
		}
		next := answers[len(*requests)-1]
		w.WriteHeader(next.status)
		io.WriteString(w, next.body)
	}))
	t.Cleanup(server.Close)
	return clientOf(server), requests
}

// clientOf returns a client with connections of its own: others end the idle ones of http.DefaultTransport.
func clientOf(server *httptest.Server) *Client {
	return &Client{Host: server.URL, HTTP: server.Client()}
}

func textOf(t *testing.T, object interface{}) string {
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return string(text)
}

const (
	aPod   = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"3"}}`
	aNode  = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"x"}}`
	aScale = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x"},"spec":{"replicas":2}}`
	done   = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
)

func pod(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func kind(kind, version string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: version}
}

func TestEachMethodAsksAsTheAPISays(t *testing.T) {
	t.Parallel()
	x := metav1.ObjectMeta{Name: "x"}
	stored := &corev1.Pod{TypeMeta: kind("Pod", "v1"), ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "3"}}
	scaled := &autoscalingv1.Scale{TypeMeta: kind("Scale", "autoscaling/v1"), ObjectMeta: x, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	node := &corev1.Node{TypeMeta: kind("Node", "v1"), ObjectMeta: x}
	binding := &corev1.Binding{ObjectMeta: x, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	sent := pod("x")
	sent.TypeMeta = kind("Pod", "v1")
	const pods, plain = "/api/v1/namespaces/default/pods", "application/json"
	for name, row := range map[string]struct {
		call   func(ctx context.Context, c *Client) (interface{}, error)
		asked  seen
		answer answer
		want   interface{}
	}{
		"create a pod": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Pods().Create(ctx, pod("x")) },
			seen{"POST " + pods, inProtobuf, textOf(t, sent)}, answer{201, aPod}, stored},
		"create a pod whose name looks like a huge number": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.Pods().Create(ctx, pod("1e12345"))
		}, seen{"POST " + pods, plain, textOf(t, pod("1e12345"))}, answer{201, aPod}, stored},
		"get a pod": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Pods().Get(ctx, "x") },
			seen{"GET " + pods + "/x", "", ""}, answer{200, aPod}, stored},
		"get a pod whose name needs an escape": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Pods().Get(ctx, "a?b #c") },
			seen{"GET " + pods + "/a%3Fb%20%23c", "", ""}, answer{200, aPod}, stored},
		"get a pod of another namespace": {func(ctx context.Context, c *Client) (interface{}, error) {
			c.Namespace = "other"
			return c.Pods().Get(ctx, "x")
		}, seen{"GET /api/v1/namespaces/other/pods/x", "", ""}, answer{200, aPod}, stored},
		"get a node": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Nodes().Get(ctx, "x") },
			seen{"GET /api/v1/nodes/x", "", ""}, answer{200, aNode}, node},
		"update a pod": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Pods().Update(ctx, pod("x")) },
			seen{"PUT " + pods + "/x", inProtobuf, textOf(t, sent)}, answer{200, aPod}, stored},
		"update a pod's status": {func(ctx context.Context, c *Client) (interface{}, error) { return c.Pods().UpdateStatus(ctx, pod("x")) },
			seen{"PUT " + pods + "/x/status", inProtobuf, textOf(t, sent)}, answer{200, aPod}, stored},
		"patch a pod": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.Pods().Patch(ctx, "x", types.JSONPatchType, []byte("[ ]"))
		}, seen{"PATCH " + pods + "/x", "application/json-patch+json", "[ ]"}, answer{200, aPod}, stored},
		"patch a pod's status": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.Pods().Patch(ctx, "x", types.MergePatchType, []byte("{}"), "status")
		}, seen{"PATCH " + pods + "/x/status", "application/merge-patch+json", "{}"}, answer{200, aPod}, stored},
		"delete a pod, which is answered with the pod": {func(ctx context.Context, c *Client) (interface{}, error) {
			return nil, c.Pods().Delete(ctx, "x", metav1.DeleteOptions{})
		}, seen{"DELETE " + pods + "/x", plain, "{}"}, answer{200, aPod}, nil},
		"delete an event on a condition, which is answered with a status": {func(ctx context.Context, c *Client) (interface{}, error) {
			return nil, c.Events().Delete(ctx, "x", *metav1.NewPreconditionDeleteOptions("7"))
		}, seen{"DELETE /api/v1/namespaces/default/events/x", plain, `{"preconditions":{"uid":"7"}}`}, answer{200, done}, nil},
		"list services": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.Services().List(ctx, metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "metadata.name=x", Limit: 2, Continue: "c", Watch: true})
		}, seen{"GET /api/v1/namespaces/default/services?continue=c&fieldSelector=metadata.name%3Dx&labelSelector=a%3Db&limit=2", "", ""},
			answer{200, `{"kind":"ServiceList","metadata":{"continue":"d"},"items":[{"metadata":{"name":"x"}}]}`},
			&List[*corev1.Service]{TypeMeta: metav1.TypeMeta{Kind: "ServiceList"}, ListMeta: metav1.ListMeta{Continue: "d"}, Items: []*corev1.Service{{ObjectMeta: x}}}},
		"get endpoints": {func(ctx context.Context, c *Client) (interface{}, error) {
			endpoints, err := c.Endpoints().Get(ctx, "x")
			return endpoints.Name, err
		}, seen{"GET /api/v1/namespaces/default/endpoints/x", "", ""}, answer{200, `{"kind":"Endpoints","metadata":{"name":"x"}}`}, "x"},
		"bind a pod": {func(ctx context.Context, c *Client) (interface{}, error) { return nil, c.Pods().Bind(ctx, binding) },
			seen{"POST " + pods + "/x/binding", plain, textOf(t, binding)}, answer{201, done}, nil},
		"get a scale": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.ReplicationControllers().GetScale(ctx, "x")
		}, seen{"GET /api/v1/namespaces/default/replicationcontrollers/x/scale", "", ""}, answer{200, aScale}, scaled},
		"update a scale": {func(ctx context.Context, c *Client) (interface{}, error) {
			return c.ReplicationControllers().UpdateScale(ctx, scaled)
		}, seen{"PUT /api/v1/namespaces/default/replicationcontrollers/x/scale", inProtobuf, textOf(t, scaled)}, answer{200, aScale}, scaled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, requests := serve(t, row.answer)
			got, err := row.call(t.Context(), c)
			require.NoError(t, err)
			if list, ok := got.(*List[*corev1.Service]); ok {
				list.new = nil
			}
			assert.Equal(t, row.want, got)
			assert.Equal(t, []seen{row.asked}, *requests)
		})
	}
}

// page is one of pods.
func page(next string, names ...string) answer {
	list := corev1.PodList{TypeMeta: kind("PodList", "v1"), ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: next}}
	for _, name := range names {
		list.Items = append(list.Items, *pod(name))
	}
	text, _ := json.Marshal(list)
	return answer{200, string(text)}
}

func TestAllGoesThroughThePagesOfOneVersion(t *testing.T) {
	t.Parallel()
	c, requests := serve(t, page("2", "a", "b"), page("3", "c"), page(""), page("2", "a", "b"))
	all := c.Pods().All(t.Context(), metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact, LabelSelector: "a"})
	var names []string
	for pod, err := range all {
		require.NoError(t, err)
		names = append(names, pod.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	for pod, err := range all { // again, from the first page, which is enough
		require.NoError(t, err)
		assert.Equal(t, "a", pod.Name)
		break
	}
	var lines []string
	for _, request := range *requests {
		lines = append(lines, strings.TrimPrefix(request.line, "GET /api/v1/namespaces/default/pods?"))
	}
	first := "labelSelector=a&limit=500&resourceVersion=5&resourceVersionMatch=Exact"
	assert.Equal(t, []string{first, "continue=2&labelSelector=a&limit=500", "continue=3&labelSelector=a&limit=500", first}, lines)
}

// refused is the answer of a server that refuses, with a status.
func refused(err *apierrors.StatusError) answer {
	status := err.ErrStatus
	status.TypeMeta = kind("Status", "v1")
	text, _ := json.Marshal(status)
	return answer{int(status.Code), string(text)}
}

func TestAllEndsWithItsFirstError(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, page("2", "a"), refused(apierrors.NewResourceExpired("too old")))
	var got []string
	for pod, err := range c.Pods().All(t.Context(), metav1.ListOptions{Limit: 1}) {
		if err != nil {
			assert.Nil(t, pod)
			assert.True(t, apierrors.IsResourceExpired(err))
			got = append(got, err.Error())
			continue
		}
		got = append(got, pod.Name)
	}
	assert.Equal(t, []string{"a", "too old"}, got)
}

var pods = corev1.Resource("pods")

func TestAChangeIsMadeAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	version := func(version string) answer {
		return answer{200, `{"kind":"Pod","metadata":{"name":"x","resourceVersion":"` + version + `"}}`}
	}
	c, requests := serve(t, version("3"), refused(apierrors.NewConflict(pods, "x", errors.New("changed"))), version("4"), version("5"))
	changed, err := c.Pods().Change(t.Context(), "x", func(pod *corev1.Pod) error {
		assert.Empty(t, pod.Labels, "it is read anew")
		pod.Labels = map[string]string{"of": pod.ResourceVersion}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "5", changed.ResourceVersion)
	require.Len(t, *requests, 4)
	assert.Contains(t, (*requests)[3].body, `"resourceVersion":"4","labels":{"of":"4"}`)
}

func TestAChangeEndsWithAnyOtherError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answers []answer
		change  error
		want    string
	}{
		"the object does not exist": {[]answer{refused(apierrors.NewNotFound(pods, "x"))}, nil, `pods "x" not found`},
		"the change is given up":    {[]answer{{200, aPod}}, errors.New("no"), "no"},
		"the change is refused":     {[]answer{{200, aPod}, refused(apierrors.NewBadRequest("bad"))}, nil, "bad"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, requests := serve(t, row.answers...)
			pod, err := c.Pods().Change(t.Context(), "x", func(*corev1.Pod) error { return row.change })
			assert.EqualError(t, err, row.want)
			assert.Nil(t, pod)
			assert.Len(t, *requests, len(row.answers))
		})
	}
}

func TestAnErrorIsTheServersStatus(t *testing.T) {
	t.Parallel()
	want := apierrors.NewConflict(pods, "x", errors.New("changed"))
	c, _ := serve(t, refused(want), refused(want), refused(want))
	_, err := c.Pods().Get(t.Context(), "x")
	want.ErrStatus.TypeMeta = kind("Status", "v1")
	assert.Equal(t, want, err)
	list, err := c.Pods().List(t.Context(), metav1.ListOptions{})
	assert.Equal(t, want, err)
	assert.Nil(t, list)
	assert.Equal(t, want, c.Pods().Delete(t.Context(), "x", metav1.DeleteOptions{}))
}

func TestAnErrorOfSomethingBetweenIsAStatusToo(t *testing.T) {
	t.Parallel()
	const text = "<html>\n"
	for name, row := range map[string]struct {
		answer answer
		is     func(error) bool
		text   string
	}{
		"a page that is not there": {answer{404, text}, apierrors.IsNotFound, "the server could not find the requested resource (get namespaces/default/pods/x)"},
		"a gateway":                {answer{502, text}, apierrors.IsInternalError, `an error on the server ("<html>") has prevented the request from succeeding (get namespaces/default/pods/x)`},
		"an object is no error":    {answer{503, aPod}, apierrors.IsServiceUnavailable, "the server is currently unable to handle the request (get namespaces/default/pods/x)"},
		"nor is a success":         {answer{429, done}, apierrors.IsTooManyRequests, "the server has received too many requests and has asked us to try again later (get namespaces/default/pods/x)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, row.answer)
			_, err := c.Pods().Get(t.Context(), "x")
			assert.True(t, row.is(err), err)
			assert.EqualError(t, err, row.text)
		})
	}
}

func TestAnErrorSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	_, err := clientOf(server).Pods().Get(t.Context(), "x")
	seconds, told := apierrors.SuggestsClientDelay(err)
	assert.True(t, told)
	assert.Equal(t, 7, seconds)
}

func TestARefusalIsAnAnswerThatNothingWasDoneNorWillBe(t *testing.T) {
	t.Parallel()
	answered := func(code int) error {
		return apierrors.NewGenericServerResponse(code, http.MethodPost, corev1.Resource("pods"), "web", "", 0, true)
	}
	for _, code := range []int{400, 401, 403, 404, 409, 410, 413, 422} {
		assert.True(t, IsRefusal(answered(code)), code)
		assert.True(t, IsRefusal(fmt.Errorf("pod web: %w", answered(code))), code)
	}
	for _, code := range []int{408, 429, 500, 502, 503, 504} {
		assert.False(t, IsRefusal(answered(code)), code)
	}
	assert.False(t, IsRefusal(nil))
	assert.False(t, IsRefusal(io.ErrUnexpectedEOF))
}

func TestANameThatWouldLeadElsewhereIsRefusedUnasked(t *testing.T) {
	t.Parallel()
	c, requests := serve(t)
	for _, name := range []string{"", ".", "..", "../services/x", "a%2fb"} {
		_, err := c.Pods().Get(t.Context(), name)
		assert.ErrorContains(t, err, " name ", name)
		assert.Error(t, c.Pods().Delete(t.Context(), name, metav1.DeleteOptions{}), name)
		_, err = c.Pods().Update(t.Context(), pod(name))
		assert.Error(t, err, name)
		assert.Error(t, c.Pods().Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}}), name)
	}
	c.Namespace = ".."
	_, err := c.Pods().List(t.Context(), metav1.ListOptions{})
	assert.EqualError(t, err, `GET namespaces/../pods: the name ".." may not be '..'`)
	assert.Empty(t, *requests)
}

func TestAnAnswerThatIsNotWhatWasAskedForIsAnError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ body, want string }{
		"not JSON":           {"<html>", "cannot decode the answer: "},
		"nothing":            {"", "cannot decode the answer: "},
		"null":               {"null", `the answer is of the kind "", not Pod`},
		"another kind":       {aNode, `the answer is of the kind "Node", not Pod`},
		"larger than wanted": {aPod + strings.Repeat(" ", 1000), "the answer is larger than 1000 bytes: a list can be read in pages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, answer{200, row.body}, answer{200, row.body})
			c.maxAnswer = 1000
			got, err := c.Pods().Get(t.Context(), "x")
			assert.ErrorContains(t, err, "GET namespaces/default/pods/x: "+row.want)
			assert.Nil(t, got)
			list, err := c.Pods().List(t.Context(), metav1.ListOptions{})
			assert.ErrorContains(t, err, "GET namespaces/default/pods: ")
			assert.Nil(t, list)
		})
	}
}

func TestAListWithoutOneOfItsItemsIsAnError(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, answer{200, `{"kind":"PodList","items":[` + aPod + `,null]}`}, answer{200, `{"kind":"PodList","items":null}`})
	list, err := c.Pods().List(t.Context(), metav1.ListOptions{})
	assert.EqualError(t, err, "GET namespaces/default/pods: item 1 of the list is null")
	assert.Nil(t, list)
	list, err = c.Pods().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func TestAServerThatIsAwayIsAnErrorOfTheTransport(t *testing.T) {
	t.Parallel()
	refuse := roundTripper(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	away := &Client{Host: "http://away/", HTTP: &http.Client{Transport: refuse}}
	_, err := away.Pods().Get(t.Context(), "x")
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	for _, host := range []string{"http://a b", "http://%zz", ""} {
		_, err = New(host).Pods().Get(t.Context(), "x")
		assert.Error(t, err, host)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A server that takes a request and never answers costs a caller a bounded time.
func TestARequestEndsWithItsContextOrAfterHalfAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := loopback.Listen()
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })}
		go func() { _ = server.Serve(network) }()
		defer server.Close()
		c := &Client{Host: "http://x", HTTP: &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true}}}
		begin := time.Now()
		_, err := c.Pods().Get(context.Background(), "x")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, requestTimeout, time.Since(begin))

		begin = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 2*requestTimeout)
		defer cancel()
		_, err = c.Pods().Change(ctx, "x", func(*corev1.Pod) error { return nil })
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*requestTimeout, time.Since(begin))
	})
}

func TestTheClientIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"kind":"Pod","metadata":{"name":%q}}`, req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:])
	}))
	defer server.Close()
	c := New(server.URL)
	shared := c.Pods()
	var group sync.WaitGroup
	for i := range 16 {
		name := string(rune('a' + i))
		group.Go(func() {
			for range 10 {
				pod, err := shared.Get(t.Context(), name)
				if assert.NoError(t, err) {
					assert.Equal(t, name, pod.Name)
				}
			}
		})
	}
	group.Wait()
}

// event is a line of a watch.
func event(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }

// toldBy returns what a watch of pods tells, a line for each event and one for its error.
func toldBy(t *testing.T, c *Client, options metav1.ListOptions) (told []string, err error) {
	for event, err := range c.Pods().Watch(t.Context(), options) {
		if err != nil {
			assert.Nil(t, event.Object)
			return told, err
		}
		told = append(told, fmt.Sprint(event.Type, " ", event.Object.Name, " ", event.Object.ResourceVersion))
	}
	return told, nil
}

func TestAWatchGoesThroughTheEventsUntilTheServerEndsIt(t *testing.T) {
	t.Parallel()
	bookmark := `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}`
	c, requests := serve(t, answer{200, event("ADDED", aPod) + event("DELETED", aPod) + event("BOOKMARK", bookmark)})
	told, err := toldBy(t, c, metav1.ListOptions{LabelSelector: "a=b", ResourceVersion: "2", AllowWatchBookmarks: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"ADDED x 3", "DELETED x 3", "BOOKMARK  9"}, told)
	assert.Equal(t, "GET /api/v1/namespaces/default/pods?allowWatchBookmarks=true&labelSelector=a%3Db&resourceVersion=2&watch=true", (*requests)[0].line)
}

func TestAWatchEndsWithItsFirstError(t *testing.T) {
	t.Parallel()
	expired, err := json.Marshal(apierrors.NewResourceExpired("too old").ErrStatus)
	require.NoError(t, err)
	const prefix = "GET namespaces/default/pods: "
	for name, row := range map[string]struct {
		answer answer
		told   []string
		is     func(error) bool
		want   string
	}{
		"before the first event": {refused(apierrors.NewResourceExpired("too old")), nil, apierrors.IsResourceExpired, "too old"},
		"in the stream":          {answer{200, event("ADDED", aPod) + event("ERROR", string(expired))}, []string{"ADDED x 3"}, apierrors.IsResourceExpired, prefix + "too old"},
		"cut":                    {answer{200, event("ADDED", aPod) + event("ADDED", aPod)[:30]}, []string{"ADDED x 3"}, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, prefix + "cannot read the next event: unexpected EOF"},
		"not JSON":               {answer{200, "<html>\n"}, nil, nil, prefix + "cannot decode an event: "},
		"no object":              {answer{200, event("ADDED", "7")}, nil, nil, prefix + "cannot decode an object: "},
		"no status":              {answer{200, event("ERROR", "7")}, nil, nil, prefix + "cannot decode an error: "},
		"another kind":           {answer{200, event("ADDED", aNode)}, nil, nil, prefix + `the object is of the kind "Node", not Pod`},
		"larger than wanted":     {answer{200, event("ADDED", strings.Replace(aPod, "{", "{"+strings.Repeat(" ", 1000), 1))}, nil, nil, prefix + "cannot read the next event: bufio.Scanner: token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, row.answer)
			c.maxAnswer = 1000
			told, err := toldBy(t, c, metav1.ListOptions{})
			assert.Equal(t, row.told, told)
			assert.ErrorContains(t, err, row.want)
			assert.True(t, row.is == nil || row.is(err), err)
		})
	}
}

func TestAWatchWhoseConnectionIsCutBetweenEventsSaysSo(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, event("ADDED", aPod))
		assert.NoError(t, http.NewResponseController(w).Flush())
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	told, err := toldBy(t, New(server.URL), metav1.ListOptions{})
	assert.Equal(t, []string{"ADDED x 3"}, told)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// The server's answer has no end: only the caller ends it.
func TestWhoLeavesTheLoopOrItsContextEndsTheWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := loopback.Listen()
		ended := make(chan struct{}, 2)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			io.WriteString(w, event("ADDED", aPod))
			assert.NoError(t, http.NewResponseController(w).Flush())
			<-req.Context().Done()
			ended <- struct{}{}
		})}
		go func() { _ = server.Serve(network) }()
		defer server.Close()
		c := &Client{Host: "http://x", HTTP: &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true}}}
		for range c.Pods().Watch(t.Context(), metav1.ListOptions{}) {
			break
		}
		<-ended
		ctx, cancel := context.WithTimeout(t.Context(), 100*requestTimeout)
		defer cancel()
		begin := time.Now()
		var last error
		for _, last = range c.Pods().Watch(ctx, metav1.ListOptions{}) {
		}
		assert.ErrorIs(t, last, context.DeadlineExceeded)
		assert.Equal(t, 100*requestTimeout, time.Since(begin), "no other time bounds it")
		<-ended
	})
}
