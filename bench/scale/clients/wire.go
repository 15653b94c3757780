package clients

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/bench/measure"
)

const (
	protobuf       = "application/vnd.kubernetes.protobuf"
	strategicMerge = "application/strategic-merge-patch+json"
)

// Who sends a request, and owns the fields that it changes.
const (
	aKubelet   = "kubelet"
	controller = "kube-controller-manager"
	scheduler  = "kube-scheduler"
	reader     = "kubectl"
)

// message is an object with its kind, of a type of today's API.
type message interface {
	runtime.Object
	Marshal() ([]byte, error)
}

var magic = []byte("k8s\x00") // before each object

// encode encodes an object of ours, which has a kind.
func encode(object message) []byte {
	raw, err := object.Marshal()
	if err != nil {
		panic(err)
	}
	kind := object.GetObjectKind().GroupVersionKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, Raw: raw}
	text, err := unknown.Marshal()
	if err != nil {
		panic(err)
	}
	return append(bytes.Clone(magic), text...)
}

func decode(body []byte, into interface{ Unmarshal([]byte) error }) error {
	text, ok := bytes.CutPrefix(body, magic)
	if !ok {
		return fmt.Errorf("an answer is not in protobuf, but begins with %.40q", body)
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(text); err != nil {
		return err
	}
	return into.Unmarshal(unknown.Raw)
}

// create returns the request that creates an object.
func (l *Load) create(who, path string, object message) []byte {
	return l.request(who, "POST", path, encode(object), protobuf)
}

// request returns a request, whose body, if it has one, is of a media type.
func (l *Load) request(who, method, path string, body []byte, mediaType ...string) []byte {
	headers := append([]string{"User-Agent: " + who + "/v1.36.3 (linux/amd64)", "Accept: " + protobuf}, l.headers...)
	for _, t := range mediaType {
		headers = append(headers, "Content-Type: "+t)
	}
	return measure.Request(method, path, body, headers...)
}
