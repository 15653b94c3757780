package aggregation

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// unsaid are headers that are not written down: they vary, or ours have no such thing.
var unsaid = []string{"Accept-Ranges", "Content-Length", "Date", "Last-Modified", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", "Vary", "X-Content-Type-Options"}

// most is how much of a body is written down.
const most = 12_000

// answerText is an answer as it is compared: JSON has one line for each value.
func answerText(resp *http.Response, body string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "status %d\n", resp.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if !slices.Contains(unsaid, name) {
			fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(resp.Header[name], " | "))
		}
	}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if packed, err := gzip.NewReader(strings.NewReader(body)); err == nil {
			plain, _ := io.ReadAll(packed) // what is missing is seen
			body = string(plain)
		}
	}
	body = firstManaged.ReplaceAllString(managed.ReplaceAllString(body, ""), "")
	var lines bytes.Buffer
	if strings.HasPrefix(body, "{") && json.Indent(&lines, []byte(body), "", " ") == nil {
		body = lines.String()
	}
	if len(body) > most {
		body = fmt.Sprintf("%s…\n%d bytes", body[:100], len(body))
	}
	return text.String() + "\n" + strings.TrimSuffix(body, "\n") + "\n"
}

var (
	managed      = regexp.MustCompile(`,\s*"managedFields":\s*\[[^\]]*\]`)
	firstManaged = regexp.MustCompile(`"managedFields":\s*\[[^\]]*\],\s*`)
)

// varies has what differs from run to run.
var varies = []struct {
	old *regexp.Regexp
	by  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"resourceVersion": "\d+"`), `"resourceVersion": "RV"`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`(hash=|")[0-9A-F]{128}`), "${1}HASH"},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=HASH"},
	{regexp.MustCompile(`stream ID \d+`), "stream ID N"},
	{regexp.MustCompile(`(?m)^Traceparent: .*$`), "Traceparent: TRACE"},
	{regexp.MustCompile(`(?m)^(Audit-Id: UID|Cache-Control: no-cache, private)\n`), ""}, // which each answer of today's server has
}

func normal(text string) string {
	for _, v := range varies {
		text = v.old.ReplaceAllString(text, v.by)
	}
	return text
}

// picked returns the part of a body that counts, or the body if it is something else.
func (s Step) picked(body string) string {
	if s.Pick == "" {
		return body
	}
	if text, ok := picks[s.Pick]([]byte(body)); ok {
		return text
	}
	return body
}

// picks read parts of bodies.
var picks = map[string]func(body []byte) (text string, ok bool){
	"nothing": func([]byte) (string, bool) { return "", true },
	"conditions": func(body []byte) (text string, ok bool) {
		var a apiregistrationv1.APIService
		if json.Unmarshal(body, &a) != nil || a.Kind != "APIService" {
			return "", false
		}
		for _, c := range a.Status.Conditions {
			text += fmt.Sprintf("%s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
		return text, true
	},
	"groups":       groups,
	"openapi":      func(body []byte) (string, bool) { return members(body, "paths", "definitions") },
	"certificates": func(body []byte) (string, bool) { return members(body, "data") },
}

// groups returns of a discovery document of all groups the extension servers' as they are, and of the others the names.
func groups(body []byte) (text string, ok bool) {
	var list struct {
		Kind          string
		Groups, Items []json.RawMessage
	}
	if json.Unmarshal(body, &list) != nil || !strings.HasSuffix(list.Kind, "List") {
		return "", false
	}
	for _, item := range append(list.Groups, list.Items...) {
		var group struct {
			Name     string
			Metadata struct{ Name string }
		}
		if json.Unmarshal(item, &group) != nil {
			return "", false
		}
		name := group.Name + group.Metadata.Name
		if slices.Contains([]string{"apiregistration.k8s.io", "apps", "batch", "node.k8s.io"}, name) {
			text += name + "\n"
		} else if foreign.MatchString(name) || name == "" {
			var lines bytes.Buffer
			_ = json.Indent(&lines, item, "", " ") // it is valid
			text += lines.String() + "\n"
		}
	}
	return list.Kind + "\n" + text, true
}

// foreign matches names of what comes from extension servers.
var foreign = regexp.MustCompile(`example|_v\d+$`)

// members returns of some members of an object those members that are foreign, sorted, or all of a config map's data.
func members(body []byte, names ...string) (text string, ok bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object[names[0]] == nil {
		return "", false
	}
	for _, name := range names {
		var inner map[string]json.RawMessage
		_ = json.Unmarshal(object[name], &inner) // one that is missing has none
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			if foreign.MatchString(key) || name == "data" {
				var lines bytes.Buffer
				_ = json.Indent(&lines, inner[key], "", " ") // it is valid
				text += name + " " + key + ": " + lines.String() + "\n"
			}
		}
	}
	return text, true
}
