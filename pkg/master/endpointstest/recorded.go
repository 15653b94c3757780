package endpointstest

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a request, and what kube-apiserver 1.36.3 answered.
type recorded struct {
	// "POST apps/v1 deployments", or PATCH with a name and perhaps a subresource: a merge patch. A slash before the resource
	// says that it is in no namespace.
	Do   string
	Body json.RawMessage
	// Want is the text of an error after its code, or an object without what each server sets in its own way.
	Want json.RawMessage
}

var (
	uid  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	when = regexp.MustCompile(`"20[0-9-]{8}T[0-9:]{8}Z"`)
)

// Replay sends the requests in a file, one a line, to the namespace default, and compares the answers with those of the
// real server.
func (d *Door) Replay(t *testing.T, file string) {
	text, err := os.Open(file)
	require.NoError(t, err)
	defer func() { assert.NoError(t, text.Close()) }()
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		words := strings.Fields(r.Do)
		require.Len(t, words, 3, r.Do)
		contentType := map[string]string{"POST": "application/json", "PATCH": MergePatch}[words[0]]
		path := "/apis/" + words[1]
		if words[1] == "v1" {
			path = "/api/v1"
		}
		if !strings.HasPrefix(words[2], "/") {
			path += "/namespaces/default/"
		}
		path += words[2]
		answer := d.Do(words[0], path, string(r.Body), "Content-Type", contentType)
		got := when.ReplaceAllString(uid.ReplaceAllString(answer.told(), "UID"), `"TIME"`)
		assert.JSONEq(t, string(r.Want), got, "%s %s", r.Do, r.Body)
	}
	require.NoError(t, lines.Err())
}

// told returns an answer in the form of a recorded one.
func (a Answer) told() string {
	var told any
	if a.Status >= 300 {
		told = strconv.Itoa(a.Status) + " " + a.Error().Message
	} else {
		var object map[string]any
		a.Into(&object)
		meta, _ := object["metadata"].(map[string]any)
		for _, own := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "namespace", "finalizers"} {
			delete(meta, own)
		}
		told = object
	}
	text, err := json.Marshal(told)
	require.NoError(a.t, err)
	return string(text)
}
