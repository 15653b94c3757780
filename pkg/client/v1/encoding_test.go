package v1

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const inProtobuf = "application/vnd.kubernetes.protobuf"

// todays is the serializer of today's server and clients.
var todays = func() *protobuf.Serializer {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, autoscalingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return protobuf.NewSerializer(scheme, scheme)
}()

// messageOf returns an object as today's server encodes it.
func messageOf(t *testing.T, object runtime.Object) string {
	var text strings.Builder
	require.NoError(t, todays.Encode(object, &text))
	return text.String()
}

// frame returns an event of a watch as today's server sends it.
func frame(t *testing.T, eventType, object string) string {
	event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: []byte(object)}}
	text, err := event.Marshal()
	require.NoError(t, err)
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + string(text)
}

// serveMessages starts a server that gives one answer in protobuf, and returns a client of it.
func serveMessages(t *testing.T, code int, body string) *Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", inProtobuf+";stream=watch")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	c := clientOf(server)
	c.maxAnswer = 1000
	return c
}

var web = &corev1.Pod{TypeMeta: kind("Pod", "v1"), ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "3"}, Spec: corev1.PodSpec{NodeName: "n"}}

func TestAnswersInProtobufAreReadAsTodaysServerWritesThem(t *testing.T) {
	t.Parallel()
	got, err := serveMessages(t, 200, messageOf(t, web)).Pods().Get(t.Context(), "web")
	require.NoError(t, err)
	assert.Equal(t, web, got)

	list := &corev1.PodList{TypeMeta: kind("PodList", "v1"), ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "x"}, Items: []corev1.Pod{*pod("a"), *pod("b")}}
	page, err := serveMessages(t, 200, messageOf(t, list)).Pods().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, list.TypeMeta, page.TypeMeta)
	assert.Equal(t, list.ListMeta, page.ListMeta)
	assert.Equal(t, []*corev1.Pod{pod("a"), pod("b")}, page.Items)

	newer := "k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x02\x18\x01" // with a field 3 that is a number
	page, err = serveMessages(t, 200, newer).Pods().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, page.Items)

	want := apierrors.NewConflict(pods, "web", errors.New("changed"))
	want.ErrStatus.TypeMeta = kind("Status", "v1")
	_, err = serveMessages(t, 409, messageOf(t, &want.ErrStatus)).Pods().Get(t.Context(), "web")
	assert.Equal(t, want, err)
}

func TestAnAnswerInProtobufThatIsNotWhatWasAskedForIsAnError(t *testing.T) {
	t.Parallel()
	envelope := func(kind, raw string) string {
		text, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: []byte(raw)}).Marshal()
		require.NoError(t, err)
		return "k8s\x00" + string(text)
	}
	for name, row := range map[string]struct{ body, want string }{
		"JSON":                 {aPod, "cannot decode the answer: it is in protobuf, and not an object"},
		"nothing":              {"", "cannot decode the answer: it is in protobuf, and not an object"},
		"no envelope":          {"k8s\x00\xff", "cannot decode the answer: "},
		"no message":           {envelope("Pod", "\xff"), "cannot decode the answer: "},
		"another kind":         {messageOf(t, &corev1.Secret{TypeMeta: kind("Secret", "v1")}), `the answer is of the kind "Secret", not Pod`},
		"one of other fields":  {messageOf(t, &corev1.Node{TypeMeta: kind("Node", "v1")}), `cannot decode the answer: it is of the kind "Node": `},
		"a list's strange end": {envelope("PodList", "\x12\x7f"), "cannot decode the answer: "},
		"a list's strange pod": {envelope("PodList", "\x12\x01\xff"), "cannot decode the answer: "},
	} {
		c := serveMessages(t, 200, row.body)
		if isList := strings.HasPrefix(name, "a list"); !isList {
			_, err := c.Pods().Get(t.Context(), "x")
			assert.ErrorContains(t, err, "GET namespaces/default/pods/x: "+row.want, name)
		}
		_, err := c.Pods().List(t.Context(), metav1.ListOptions{})
		assert.ErrorContains(t, err, "GET namespaces/default/pods: ", name)
	}
}

func TestAWatchInProtobufGoesThroughItsEvents(t *testing.T) {
	t.Parallel()
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	expired.TypeMeta = kind("Status", "v1")
	added := frame(t, "ADDED", messageOf(t, web))
	const prefix = "GET namespaces/default/pods: "
	for name, row := range map[string]struct {
		body string
		told []string
		want string
	}{
		"to its end":          {added + frame(t, "DELETED", messageOf(t, web)), []string{"ADDED web 3", "DELETED web 3"}, ""},
		"to an error":         {added + frame(t, "ERROR", messageOf(t, &expired)), []string{"ADDED web 3"}, prefix + "too old"},
		"cut in an event":     {added + added[:30], []string{"ADDED web 3"}, prefix + "cannot read the next event: unexpected EOF"},
		"cut in a length":     {added + added[:3], []string{"ADDED web 3"}, prefix + "cannot read the next event: unexpected EOF"},
		"no event":            {"\x00\x00\x00\x01\xff", nil, prefix + "cannot decode an event: "},
		"no object":           {frame(t, "ADDED", "7"), nil, prefix + "cannot decode an object: "},
		"no status":           {frame(t, "ERROR", "7"), nil, prefix + "cannot decode an error: "},
		"another kind":        {frame(t, "ADDED", messageOf(t, &corev1.Secret{TypeMeta: kind("Secret", "v1")})), nil, prefix + `the object is of the kind "Secret", not Pod`},
		"larger than allowed": {"\xff\xff\xff\xff" + strings.Repeat(" ", 2000), nil, prefix + "cannot read the next event: bufio.Scanner: token too long"},
	} {
		told, err := toldBy(t, serveMessages(t, 200, row.body), metav1.ListOptions{})
		assert.Equal(t, row.told, told, name)
		if row.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, row.want, name)
		}
	}
}
