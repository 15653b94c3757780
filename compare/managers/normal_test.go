package managers

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// normalAnswer returns an answer as lines, without what each server chooses.
func (h *history) normalAnswer(body []byte) string {
	var read any
	if json.Unmarshal(body, &read) != nil {
		return string(body) + "\n"
	}
	text, err := json.MarshalIndent(masked(read), "", " ")
	if err != nil {
		panic(err) // it was JSON
	}
	return lineEnd.ReplaceAllString(string(text), "") + "\n"
}

var lineEnd = regexp.MustCompile(`(?m),$`)

// chosen are members that have another value on each server.
var chosen = map[string]bool{"uid": true, "resourceVersion": true, "creationTimestamp": true, "deletionTimestamp": true, "time": true, "lastTransitionTime": true,
	"lastUpdateTime": true}

func masked(value any) any {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if text, isText := member.(string); isText && chosen[name] && text != "" && text != "None" {
				value[name] = "*"
			} else {
				value[name] = masked(member)
			}
		}
		if spec, ok := value["spec"].(object); ok && value["kind"] == "Service" { // K4
			for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"} {
				delete(spec, name)
			}
		}
		if status, ok := value["status"].(object); ok && value["kind"] == "Pod" && status["phase"] == nil { // K103
			status["phase"] = "Pending"
		}
		if value["apiVersion"] == "autoscaling/v1" && value["operation"] == "Apply" { // K103
			delete(value, "time")
		}
		if entries, ok := value["managedFields"].([]any); ok { // which are sorted by time
			slices.SortFunc(entries, func(a, b any) int { return strings.Compare(string(inJSON(a)), string(inJSON(b))) })
		}
		if causes, ok := value["causes"].([]any); ok {
			slices.SortFunc(causes, func(a, b any) int { return strings.Compare(string(inJSON(a)), string(inJSON(b))) })
			value["causes"] = slices.CompactFunc(causes, func(a, b any) bool { return string(inJSON(a)) == string(inJSON(b)) }) // K86
		}
		if message, ok := value["message"].(string); ok { // which may show the objects (K86)
			message, _, _ = strings.Cut(message, "\n@@ ")
			value["message"] = shown.ReplaceAllString(message, "Duplicate value: *")
		}
		if message, ok := value["message"].(string); ok && value["kind"] == "Status" && strings.Contains(message, "[") {
			words := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
			slices.Sort(words)
			words = slices.Compact(words)
			value["message"] = strings.Join(words, " ")
		}
	case []any:
		for i := range value {
			value[i] = masked(value[i])
		}
	}
	return value
}

var shown = regexp.MustCompile(`Duplicate value: \{[^{}]*\}`)

var masks = []struct {
	of *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000 UTC( m=[+.\d]+)?`), "TIME"},
	{regexp.MustCompile(`\b10\.0\.0\.\d+\b`), "IP"},
	{regexp.MustCompile(`(resourceVersion\W+)\d+`), "${1}VERSION"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
}

func (h *history) normal(text, name string) string {
	for _, m := range masks {
		text = m.of.ReplaceAllString(text, m.as)
	}
	return strings.ReplaceAll(text, name, "NAME")
}

// diff returns the lines that only one text has, with the line before them.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	common := make([][]int, len(w)+1) // how many lines the rests have in common
	for i := range common {
		common[i] = make([]int, len(g)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(g) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if w[i] == g[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var found []string
	before := ""
	tell := func(sign, line string) {
		if before != "" {
			found = append(found, "  "+before)
			before = ""
		}
		found = append(found, sign+line)
	}
	for i, j := 0, 0; i < len(w) || j < len(g); {
		switch {
		case i < len(w) && j < len(g) && w[i] == g[j]:
			before = w[i]
			i, j = i+1, j+1
		case j == len(g) || i < len(w) && common[i+1][j] >= common[i][j+1]:
			tell("- ", w[i])
			i++
		default:
			tell("+ ", g[j])
			j++
		}
	}
	const page = 40
	return strings.Join(found[:min(page, len(found))], "\n")
}

// known are the differences that are on purpose: their numbers are those of docs/differences.md.
var known = []struct {
	k         string
	kind      string // all kinds, if it is empty
	want, got *regexp.Regexp
	ends      bool // the objects differ afterwards
}{
	{k: "K85", want: regexp.MustCompile(`"field": "metadata.uid"\s+"message": "Invalid value: .*field is immutable`), got: regexp.MustCompile(`Precondition failed: UID`)},
	{k: "K79", kind: "Pod", want: regexp.MustCompile(`"SchedulingGated"`), got: regexp.MustCompile(`status 200`), ends: true},
	{k: "K88", want: regexp.MustCompile(`strconv.ParseUint: parsing`), got: regexp.MustCompile(`must be a version that this server has told`)},
	{k: "K103", want: regexp.MustCompile(`failed to create manager for existing fields: failed to convert live object .* request to convert CR to an invalid`), got: regexp.MustCompile(`status (200|409)`), ends: true},
	{k: "K103", kind: "Thing", want: regexp.MustCompile(`(?s)"f:(labels|annotations)": \{\}.*written: true`), got: regexp.MustCompile(`written: false`), ends: true},
	{k: "K103", want: regexp.MustCompile(`status (201|422)`), got: regexp.MustCompile(`status 404`), ends: true},
	// A second delete of what ends already is a write there.
	{want: regexp.MustCompile(`"deletionTimestamp"[^!]*written: true`), got: regexp.MustCompile(`"deletionTimestamp"[^!]*written: false`), ends: true},
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`"deletionGracePeriodSeconds": 0`), got: regexp.MustCompile(`"deletionTimestamp"`), ends: true},
	// The definition ends there when its storage is ready, which takes a minute if it changes.
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`"deletionTimestamp"`), got: regexp.MustCompile(`"deletionTimestamp"|status (201|404)`), ends: true},
	// Controllers change definitions at other times there.
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`"acceptedNames"`), got: regexp.MustCompile(`(?s)"f:acceptedNames".{0,500}"f:shortNames"`), ends: true},
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`"reason": "Installing"`), got: regexp.MustCompile(`"InitialNamesAccepted"`), ends: true},
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`.`), got: regexp.MustCompile(`the object has been modified`), ends: true},
	{kind: "CustomResourceDefinition", want: regexp.MustCompile(`the object has been modified`), got: regexp.MustCompile(`.`), ends: true},
	// The library stops at the first unknown field, in the order of a map, and tells all mistakes that it found before.
	{want: regexp.MustCompile(`field not declared in schema`), got: regexp.MustCompile(`errors:`)},
	{want: regexp.MustCompile(`errors:`), got: regexp.MustCompile(`field not declared in schema`)},
}

// isKnown reports whether a difference is known, and whether nothing can be compared after it.
func isKnown(k kind, texts [2]string) (is, ends bool) {
	for _, d := range known {
		if (d.kind == "" || d.kind == k.name) && d.want.MatchString(texts[0]) && d.got.MatchString(texts[1]) {
			return true, d.ends
		}
	}
	return false, false
}
