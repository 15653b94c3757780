package main

import (
	"regexp"
	"slices"
	"strings"
)

// result is an exchange, and what explains the difference in it.
type result struct {
	exchange
	deviations []string
	explained  bool
	rest       exchange // without what the deviations explain
}

func explain(step step, store string, original, ours answer) result {
	x := exchange{step, original, ours}
	r := result{exchange: x}
	for _, rule := range rules {
		if x.original == x.ours {
			break
		}
		if rule.store != "" && rule.store != store {
			continue
		}
		before := []answer{x.original, x.ours}
		rule.apply(&x)
		if !slices.Equal(before, []answer{x.original, x.ours}) {
			r.deviations = append(r.deviations, rule.deviation)
		}
	}
	r.rest, r.explained = x, x.original == x.ours
	// The step's own deviation explains the recorded answer, and no other.
	if !r.explained && step.Deviation != "" && step.wasAnswered(store, original) && step.isContract(ours) {
		r.deviations, r.explained = append(r.deviations, step.Deviation), true
	}
	slices.SortFunc(r.deviations, byNumber)
	r.deviations = slices.Compact(r.deviations)
	return r
}

// wasAnswered tells whether the original has answered as it did when it was
// recorded. Long bodies are cut in the recording.
func (s step) wasAnswered(store string, got answer) bool {
	want, ok := s.Original[store]
	if !ok || got.Status != want.Status || got.Note != want.Note || got.Body != "" && got.ContentType != plainText {
		return false
	}
	body, cut := strings.CutSuffix(want.Body, "…")
	body, gotBody := masked(body), masked(got.Body)
	return gotBody == body || cut && strings.HasPrefix(gotBody, body)
}

// masks hide what depends on the Go version, the client or the history of etcd.
var masks = []struct {
	varies *regexp.Regexp
	mask   string
}{
	{regexp.MustCompile(`(?s)&http\.Request\{(Method:"\w+", ).*`), "&http.Request{$1"},
	{regexp.MustCompile(`(?s)&json\.(\w+)\{.*`), "&json.$1{"},
	{regexp.MustCompile(`Cause:"[^"]*", Index:0x[0-9a-f]+`), "Cause, Index"},
}

func masked(body string) string {
	for _, mask := range masks {
		body = mask.varies.ReplaceAllString(body, mask.mask)
	}
	return body
}

func (s step) isContract(got answer) bool {
	for _, part := range s.Contract.Contains {
		if !strings.Contains(got.Body, part) {
			return false
		}
	}
	return got.Status == s.Contract.Status
}
