package endpoints_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	. "kube2014/pkg/master/endpointstest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/util/loopback"
)

// event is a line of a watch.
type event struct {
	Type   string
	Object struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Message           string
		Code              int
		ColumnDefinitions []metav1.TableColumnDefinition
		Rows              []metav1.TableRow
	}
}

func (e event) String() string { return e.Type + " " + e.Object.Name + " " + e.Object.ResourceVersion }

// watched watches for half a minute of a clock that waits for nobody, during which a function is
// called. It returns the events, and the text that they stand in.
func watched(t *testing.T, d *Door, path string, during func(), headers ...string) (events []event, text string) {
	answered := make(chan Answer, 1)
	go func() { answered <- d.Do("GET", path+"timeoutSeconds=30", "", headers...) }()
	synctest.Wait()
	during()
	answer := <-answered
	require.Equal(t, 200, answer.Status, answer.Text)
	assert.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	for line := range strings.Lines(answer.Text) {
		var one event
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		events = append(events, one)
	}
	return events, answer.Text
}

// told is watched, with a word for each event.
func told(t *testing.T, d *Door, path string, during func(), headers ...string) (all []string) {
	events, _ := watched(t, d, path, during, headers...)
	for _, event := range events {
		all = append(all, strings.TrimSpace(event.String()))
	}
	return all
}

func nothing() {}

// inBubble runs a test with a clock that waits for nobody.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

const service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`

func TestAWatchTellsWhatChangesAfterItsVersion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for query, first := range map[string][]string{
			"?watch=1&resourceVersion=2&":   {"ADDED b 3"},
			"?watch=yes&resourceVersion=3&": nil,
			"?watch=1&":                     {"ADDED a 2", "ADDED b 3"},
			"?watch=&resourceVersion=0&":    {"ADDED a 2", "ADDED b 3"},
			"?watch=1&resourceVersion=00&":  {"ADDED a 2", "ADDED b 3"},
			"?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&":                                         nil,
			"?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=2&":                       {"ADDED b 3"},
			"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=2&":                        {"ADDED a 2", "ADDED b 3"},
			"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&":                 {"ADDED a 2", "ADDED b 3", "BOOKMARK  4"},
			"?watch=1&resourceVersion=0&allowWatchBookmarks=1&limit=1&":                                                   {"ADDED a 2", "ADDED b 3", "BOOKMARK  4"},
			"?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0&allowWatchBookmarks=1&": nil,
		} {
			d := withPods(t, 2)
			d.Must("POST", Services, service)
			got := told(t, d, Pods+query, func() {
				d.Patch(Pods+"/a", MergePatch, `{"metadata":{"labels":{"x":"y"}}}`)
				d.Must("DELETE", Pods+"/a", "")
			})
			assert.Equal(t, append(first, "MODIFIED a 5", "DELETED a 6"), got, query)
		}
	})
}

func TestAWatchIsToldWhatEntersAndLeavesItsSelection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := Open(t)
		label := func(name, value string) {
			d.Patch(Pods+"/"+name, MergePatch, `{"metadata":{"labels":{"tier":`+value+`}}}`)
		}
		events, _ := watched(t, d, Pods+"?watch=1&labelSelector=tier=front&", func() {
			d.Must("POST", Pods, Pod("a", `"labels":{"tier":"front"}`))         // 2
			d.Must("POST", Pods, Pod("b", `"labels":{"tier":"back"}`))          // 3
			label("b", `"front"`)                                               // 4: enters
			d.Patch(Pods+"/b", MergePatch, `{"metadata":{"labels":{"x":"y"}}}`) // 5
			label("a", `null`)                                                  // 6: leaves
			label("a", `"back"`)                                                // 7: is not seen
			d.Must("DELETE", Pods+"/a", "")                                     // 8: nor is that
			d.Must("DELETE", Pods+"/b", "")                                     // 9
		})
		var words []string
		for _, event := range events {
			words = append(words, event.String()+" "+event.Object.Labels["tier"])
		}
		assert.Equal(t, []string{"ADDED a 2 front", "ADDED b 4 front", "MODIFIED b 5 front", "DELETED a 6 front", "DELETED b 9 front"}, words)

		change := func() { d.Must("DELETE", Pods+"/c", "") }
		for fields, want := range map[string][]string{
			"metadata.name=c":                           {"ADDED c 10", "DELETED c 11"},
			"metadata.name=d":                           nil,
			"metadata.name!=d,status.phase=Pending":     {"ADDED c 10", "DELETED c 11"},
			"status.phase=Running":                      nil,
			"spec.nodeName=n":                           nil,
			"spec.nodeName=,metadata.namespace=default": {"ADDED c 10", "DELETED c 11"},
		} {
			d = Open(t)
			d.Store.Reset(9, nil)
			d.Must("POST", Pods, Pod("c", ""))
			assert.Equal(t, want, told(t, d, Pods+"?watch=1&fieldSelector="+fields+"&", change), fields)
		}
	})
}

func TestAWatchAtAPathOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 2)
		node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`
		d.Must("POST", Nodes, node)
		d.Must("POST", "/api/v1/namespaces", `{"metadata":{"name":"dev"}}`)
		for path, want := range map[string][]string{
			"/api/v1/watch/pods?":                                                    {"ADDED a 2", "ADDED b 3"},
			"/api/v1/watch/namespaces/default/pods?":                                 {"ADDED a 2", "ADDED b 3"},
			"/api/v1/watch/namespaces/default/pods?labelSelector=!a&":                {"ADDED a 2", "ADDED b 3"},
			"/api/v1/watch/namespaces/default/pods/b?":                               {"ADDED b 3"},
			"/api/v1/watch/namespaces/default/pods/b?fieldSelector=metadata.name=b&": {"ADDED b 3"},
			"/api/v1/watch/namespaces/other/pods?":                                   nil,
			"/api/v1/namespaces/other/pods?watch=1&":                                 nil,
			"/api/v1/watch/nodes/n?":                                                 {"ADDED n 4"},
			"/api/v1/watch/namespaces?":                                              {"ADDED dev 5"},
			"/api/v1/watch/namespaces/dev?":                                          {"ADDED dev 5"},
			"/api/v1/namespaces?watch=1&allowWatchBookmarks=1&":                      {"ADDED dev 5", "BOOKMARK  5"},
			"/api/v1/namespaces?watch=1&resourceVersion=5&":                          nil,
		} {
			assert.Equal(t, want, told(t, d, path, nothing), path)
		}
	})
}

func TestAWatchThatCannotBeServedIsAnswered(t *testing.T) {
	t.Parallel()
	d := withPods(t, 2)
	name := "fieldSelector metadata.name doesn't match requested name"
	for _, row := range []struct {
		method, path string
		status       int
		message      string
	}{
		{"POST", "/api/v1/watch/namespaces/default/pods", 405, "the server does not allow this method on the requested resource"},
		{"DELETE", "/api/v1/watch/namespaces/default/pods/a", 405, "the server does not allow this method on the requested resource"},
		{"GET", "/api/v1/watch/pods/a", 404, "the server could not find the requested resource"},
		{"GET", "/api/v1/watch/namespaces/default/pods/a/status", 404, "the server could not find the requested resource"},
		{"GET", "/api/v1/watch/namespaces/default/bindings", 405, "the server does not allow this method on the requested resource"},
		{"GET", "/api/v1/watch/namespaces/default/pods/a?fieldSelector=metadata.name=b", 400, name},
		{"GET", "/api/v1/watch/namespaces/default/pods/a?fieldSelector=status.phase=Pending", 400, name},
		{"GET", Pods + "?watch=1&labelSelector=a=b=c", 400, "found '=', expected: ',' or 'end of string'"},
		{"GET", Pods + "?watch=1&fieldSelector=foo=bar", 400, "field label not supported: foo"},
		{"GET", Pods + "?watch=1&timeoutSeconds=x", 400, `strconv.ParseInt: parsing "x": invalid syntax`},
		{"GET", "/api/v1/namespaces?watch=1&resourceVersion=x", 400, `invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`},
		{"GET", Pods + "?watch=1&resourceVersionMatch=Exact", 422, `ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`},
		{"GET", Pods + "?watch=1&sendInitialEvents=true", 422, `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`},
		{"GET", Pods + "?sendInitialEvents=true", 422, `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`},
		{"GET", Pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9", 504, "Timeout: Too large resource version: 9, current: 3"},
	} {
		answer := d.Do(row.method, row.path, "")
		assert.Equal(t, row.status, answer.Status, row.path)
		assert.Equal(t, row.message, answer.Error().Message, row.path)
	}
	head := d.Do("HEAD", Pods+"?watch=1", "")
	assert.Equal(t, 405, head.Status)
	table := d.Do("GET", Pods+"?watch=1&includeObject=foo", "", "Accept", Table)
	assert.Equal(t, 400, table.Status)
	assert.Equal(t, "Unable to convert to Table as requested: includeObject: Invalid value: \"foo\": must be 'Metadata', 'Object', 'None', or empty", table.Error().Message)
	list := d.Do("GET", Pods+"?watch=1", "", "Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
	assert.Equal(t, 406, list.Status)
}

func TestK28AWatchFromAVersionThatIsGoneIsExpired(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		d.Forget("2")
		answer := d.Do("GET", Pods+"?watch=1&resourceVersion=2", "")
		assert.Equal(t, 410, answer.Status)
		assert.Equal(t, metav1.StatusReasonExpired, answer.Error().Reason)
		assert.Regexp(t, `^too old resource version: 2 \(\d+\)$`, answer.Error().Message)
	})
}

func TestK31APodWithoutTimeToEndIsOnlyDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		got := told(t, d, Pods+"?watch=1&resourceVersion=2&", func() { d.Must("DELETE", Pods+"/a", "") })
		assert.Equal(t, []string{"DELETED a 3"}, got)
	})
}

// A client has watched the server before it was started anew.
func TestK28AWatchOfAnotherLifeIsExpired(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		answer := d.Do("GET", Pods+"?watch=1&resourceVersion=3", "")
		assert.Equal(t, 410, answer.Status)
		assert.Equal(t, "Too large resource version: 3, current: 2", answer.Error().Message)
		assert.Equal(t, 400, d.Do("GET", Pods+"?watch=1&resourceVersion=x", "").Status)
	})
}

func TestAWatchWhoseHistoryIsGoneEndsWithAnError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		events, _ := watched(t, d, Pods+"?watch=1&", func() { d.Store.Reset(9, nil) })
		require.Len(t, events, 2)
		assert.Equal(t, "ERROR", events[1].Type)
		assert.Equal(t, "The resourceVersion for the provided watch is too old.", events[1].Object.Message)
		assert.EqualValues(t, 410, events[1].Object.Code)
		assert.Equal(t, "Status", events[1].Object.Kind)
	})
}

func TestOnlyTheFirstTableOfAWatchHasColumns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		events, text := watched(t, d, Pods+"?watch=1&allowWatchBookmarks=1&includeObject=Object&", func() {
			d.Must("POST", Pods, Pod("z", ""))
			d.Must("DELETE", Pods+"/z", "")
		}, "Accept", Table)
		var words []string
		for i, event := range events {
			require.Len(t, event.Object.Rows, 1)
			words = append(words, fmt.Sprint(event, event.Object.Rows[0].Cells[0]))
			assert.Equal(t, i == 0, len(event.Object.ColumnDefinitions) > 0, event)
			assert.Equal(t, "Table", event.Object.TypeMeta.Kind)
		}
		assert.Equal(t, []string{"ADDED  2a", "BOOKMARK  2", "ADDED  3z", "DELETED  4z"}, words)
		assert.Contains(t, text, `"columnDefinitions":null`)
		assert.Contains(t, text, `"containers":[{"name":"c"`, "the objects, because they are asked for")
	})
}

func TestAWatchOfMetadata(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		events, text := watched(t, d, Pods+"?watch=1&allowWatchBookmarks=1&", nothing, "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
		require.Len(t, events, 2)
		for _, event := range events {
			assert.Equal(t, "PartialObjectMetadata", event.Object.TypeMeta.Kind)
		}
		assert.Equal(t, map[string]string{"k8s.io/initial-events-end": "true"}, events[1].Object.Annotations)
		assert.NotContains(t, text, `"spec"`)
	})
}

func TestK30BookmarksComeOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		begin := time.Now()
		got := make(chan []string)
		go func() {
			var all []string
			answer := d.Do("GET", Pods+"?watch=1&resourceVersion=2&allowWatchBookmarks=true&timeoutSeconds=200", "")
			for line := range strings.Lines(answer.Text) {
				var one event
				assert.NoError(t, json.Unmarshal([]byte(line), &one))
				all = append(all, one.String())
			}
			got <- all
		}()
		time.Sleep(90 * time.Second)
		d.Must("POST", Services, service)
		assert.Equal(t, []string{"BOOKMARK  2", "BOOKMARK  3", "BOOKMARK  3"}, <-got)
		assert.Equal(t, 200*time.Second, time.Since(begin))
	})
}

func TestAWatchEndsByItselfAfterHalfAnHourToAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		for query, between := range map[string][2]time.Duration{
			"":                                    {30 * time.Minute, time.Hour},
			"&timeoutSeconds=0":                   {30 * time.Minute, time.Hour},
			"&timeoutSeconds=7":                   {7 * time.Second, 7 * time.Second},
			"&timeoutSeconds=-1":                  {0, 0},
			"&timeoutSeconds=9223372036854775807": {time.Hour, time.Hour},
		} {
			begin := time.Now()
			assert.Equal(t, 200, d.Do("GET", Pods+"?watch=1"+query, "").Status)
			took := time.Since(begin)
			assert.True(t, took >= between[0] && took <= between[1], "%s: %v", query, took)
		}
	})
}

func TestK29WatchesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		d.MaxWatches = 2
		ended := make(chan Answer, 2)
		for range 2 {
			go func() {
				ended <- d.Do("GET", Pods+"?watch=1&timeoutSeconds=60", "")
			}()
		}
		synctest.Wait()
		for range 2 {
			refused := d.Do("GET", Pods+"?watch=1&timeoutSeconds=60", "")
			assert.Equal(t, 429, refused.Status)
			assert.Equal(t, "1", refused.Header.Get("Retry-After"))
			assert.Equal(t, metav1.StatusReasonTooManyRequests, refused.Error().Reason)
		}
		for range 2 {
			assert.True(t, strings.HasPrefix((<-ended).Text, `{"type":"ADDED"`))
		}
		assert.Equal(t, 200, d.Do("GET", Pods+"?watch=1&timeoutSeconds=60", "").Status, "there is room again")
		d.EndWatches()
		d.EndWatches()
		begin := time.Now()
		last := d.Do("GET", Pods+"?watch=1&timeoutSeconds=60", "")
		assert.Equal(t, 200, last.Status)
		assert.Contains(t, last.Text, `"ADDED"`, "what there is is told all the same")
		assert.Zero(t, time.Since(begin), "it ends at once")
	})
}

// A watch over many changes that it does not select ends, and tells how far it is.
func TestBookmarksComeAlsoWhileOthersChangeMuch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		stop := make(chan struct{})
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond):
					d.Patch(Pods+"/a", MergePatch, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
				}
			}
		}()
		for selector, bookmarks := range map[string]int{"": 3, "labelSelector=none&": 3} {
			begin := time.Now()
			answer := d.Do("GET", Pods+"?watch=1&resourceVersion=2&allowWatchBookmarks=1&timeoutSeconds=200&"+selector, "")
			assert.Equal(t, 200*time.Second, time.Since(begin))
			assert.Equal(t, bookmarks, strings.Count(answer.Text, `"BOOKMARK"`), selector)
		}
		close(stop)
	})
}

// converter counts how often objects are converted to the version of today's API.
type converter struct {
	v1.Converter
	toV1 atomic.Int64
}

func (c *converter) ToVersioned(object api.Object) (runtime.Object, error) {
	c.toV1.Add(1)
	return c.Converter.ToVersioned(object)
}

// counting lets a door count how often it converts pods.
func counting(d *Door) *converter {
	row := d.Catalog.Snapshot().Find(corev1.SchemeGroupVersion, "pods")
	codec := row.Storage.(*genericregistry.Store[*corev1.Pod]).Codec
	counted := &converter{Converter: codec.Converter}
	codec.Converter = counted
	return counted
}

func TestAnEventIsEncodedOnceForAllWhoWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const pods = 20
		change := func(d *Door) {
			for i := range pods {
				name := fmt.Sprint("x", i)
				d.Must("POST", Pods, Pod(name, `"labels":{"a":"b"}`))
				d.Must("PUT", Pods+"/"+name, Pod(name, `"labels":{"a":"b","c":"d"}`))
				d.Must("DELETE", Pods+"/"+name, "")
			}
			d.Must("POST", Pods, Pod("y", `"labels":{"a":"b"}`))
		}
		d := Open(t)
		counted := counting(d)
		var watchers sync.WaitGroup
		for range 10 {
			for _, selector := range []string{"", "labelSelector=a=b&"} {
				watchers.Go(func() {
					answer := d.Do("GET", Pods+"?watch=1&"+selector+"timeoutSeconds=30", "")
					assert.Equal(t, 3*pods+1, strings.Count(answer.Text, "\n"), answer.Text)
				})
			}
		}
		synctest.Wait()
		change(d)
		watchers.Wait()
		other := Open(t)
		alone := counting(other)
		change(other)
		assert.Equal(t, alone.toV1.Load()+pods, counted.toV1.Load(), "one more for each pod that is gone than without watchers")
	})
}

// connected returns clients of a door over a network in memory, each with a connection, at a
// server that has the time limits of the program.
func connected(t *testing.T, d *Door) func() *http.Client { return connectedBy(t, d, nil) }

// connectedBy is connected by some protocols, nil for HTTP/1.
func connectedBy(t *testing.T, d *Door, protocols *http.Protocols) func() *http.Client {
	network := loopback.Listen()
	server := &http.Server{Handler: d, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, Protocols: protocols}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(network)
	}()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		<-served
	})
	return func() *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true, Protocols: protocols}}
	}
}

// onlyHTTP2 is the protocol of today's clients at a secure port, here without TLS.
func onlyHTTP2() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

func TestNoTimeLimitOfARequestEndsAWatch(t *testing.T) { noTimeLimitEndsAWatch(t, nil) }

func TestNoTimeLimitOfARequestEndsAWatchOverHTTP2(t *testing.T) {
	noTimeLimitEndsAWatch(t, onlyHTTP2())
}

func noTimeLimitEndsAWatch(t *testing.T, protocols *http.Protocols) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		resp, err := connectedBy(t, d, protocols)().Get("http://x" + Pods + "?watch=1&timeoutSeconds=1000")
		require.NoError(t, err)
		lines := bufio.NewReader(resp.Body)
		for _, want := range []string{`{"type":"ADDED"`, `{"type":"DELETED"`} {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			assert.Contains(t, line, want)
			time.Sleep(5 * time.Minute)
			d.Do("DELETE", Pods+"/a", "")
		}
		rest, err := io.ReadAll(lines)
		assert.NoError(t, err, "the answer has an end")
		assert.Empty(t, rest)
		assert.NoError(t, resp.Body.Close())
	})
}

func TestAWatchWithABodyThatDoesNotComeIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		body, unsent := io.Pipe()
		defer unsent.Close()
		d := Open(t)
		d.MaxWatches = 1
		client := connected(t, d)
		req, err := http.NewRequest("GET", "http://x"+Pods+"?watch=1&timeoutSeconds=30", body)
		require.NoError(t, err)
		req.ContentLength = 10
		refused := make(chan int, 1)
		go func() {
			resp, err := client().Do(req)
			if assert.NoError(t, err) {
				refused <- resp.StatusCode
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		assert.Equal(t, 200, d.Do("GET", Pods+"?watch=1&timeoutSeconds=1", "").Status, "it does not count among the watches")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, refused, 1, "it is over")
		assert.Equal(t, 400, <-refused)
	})
}

func TestAClientThatDoesNotReadIsCutOffAndHoldsNobodyUp(t *testing.T) {
	cutOff(t, nil, 5000)
}

// A client over HTTP/2 takes 4 MB before it is read.
func TestAClientThatDoesNotReadIsCutOffOverHTTP2(t *testing.T) { cutOff(t, onlyHTTP2(), 100_000) }

// cutOff has pods of a size, in bytes, that fill the buffers between server and client.
func cutOff(t *testing.T, protocols *http.Protocols, size int) {
	inBubble(t, func(t *testing.T) {
		d := Open(t)
		client := connectedBy(t, d, protocols)
		begin := time.Now()
		stuck, err := client().Get("http://x" + Pods + "?watch=1&timeoutSeconds=1000")
		require.NoError(t, err)
		reads, err := client().Get("http://x" + Pods + "?watch=1&timeoutSeconds=100")
		require.NoError(t, err)
		for range 100 {
			d.Must("POST", Pods, Pod("x", `"annotations":{"much":"`+strings.Repeat("x", size)+`"}`))
			d.Must("DELETE", Pods+"/x", "")
		}
		all := bufio.NewReader(reads.Body)
		for range 200 {
			_, err := all.ReadString('\n')
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(begin), "nobody has waited")
		time.Sleep(d.WriteTimeout + time.Second)
		_, err = io.Copy(io.Discard, stuck.Body)
		if protocols == nil {
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		} else {
			assert.ErrorContains(t, err, "INTERNAL_ERROR")
		}
		_, err = io.Copy(io.Discard, all)
		assert.NoError(t, err, "the other one goes on to its end")
		assert.Equal(t, 100*time.Second, time.Since(begin))
	})
}
