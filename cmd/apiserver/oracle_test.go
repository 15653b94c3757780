package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is what a watch of pods selects.
type selection struct{ labels, fields string }

func (s selection) query() string {
	return "labelSelector=" + url.QueryEscape(s.labels) + "&fieldSelector=" + url.QueryEscape(s.fields)
}

// has reports whether a pod, as it was sent, is selected; "" is none.
func (s selection) has(text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	var pod corev1.Pod
	byLabels, labelErr := labels.Parse(s.labels)
	byFields, fieldErr := fields.ParseSelector(s.fields)
	if err := errors.Join(labelErr, fieldErr, json.Unmarshal([]byte(text), &pod)); err != nil {
		return false, err
	}
	set := fields.Set{"metadata.name": pod.Name, "spec.nodeName": pod.Spec.NodeName, "status.phase": string(pod.Status.Phase)}
	return byLabels.Matches(labels.Set(pod.Labels)) && byFields.Matches(set), nil
}

// change is one change of a pod, with the pod before and after it, "" for none.
type change struct {
	version       uint64
	before, after string
}

// changesOf makes of the events of a watch that selects all pods, of which there were none
// when it began, the changes that happened; or tells what is wrong with the events.
func changesOf(events []event) (changes []change, err error) {
	pods, last := map[string]string{}, uint64(0)
	for _, e := range events {
		c := change{version: e.version(), before: pods[e.about.Name], after: string(e.Object)}
		pods[e.about.Name] = c.after
		want := "MODIFIED"
		switch {
		case e.Type == "DELETED":
			if want = "DELETED"; c.before == "" || c.after != at(c.before, c.version) {
				return nil, fmt.Errorf("what was %s is deleted as %s", c.before, c.after)
			}
			c.after = ""
			delete(pods, e.about.Name)
		case c.before == "":
			want = "ADDED"
		}
		if e.Type != want || c.version <= last {
			return nil, fmt.Errorf("after version %d comes %s, which is not %s", last, e, want)
		}
		last = c.version
		changes = append(changes, c)
	}
	return changes, nil
}

// at returns a pod with another version.
func at(pod string, version uint64) string {
	const member = `"resourceVersion":"`
	head, tail, _ := strings.Cut(pod, member)
	_, tail, _ = strings.Cut(tail, `"`)
	return fmt.Sprint(head, member, version, `"`, tail)
}

// telling is what a watch tells of a change.
type telling struct {
	version uint64
	event   string
}

// oracle knows what each watch must tell.
type oracle struct {
	changes []change
	told    map[selection][]telling // what is known of all changes
}

// after returns the events that a watch of a selection tells after a version.
func (o *oracle) after(version uint64, s selection) (events []string, err error) {
	if o.told[s] == nil {
		if o.told[s], err = o.tellings(s); err != nil {
			return nil, err
		}
	}
	for _, t := range o.told[s] {
		if t.version > version {
			events = append(events, t.event)
		}
	}
	return events, nil
}

func (o *oracle) tellings(s selection) (all []telling, err error) {
	for _, c := range o.changes {
		was, wasErr := s.has(c.before)
		is, isErr := s.has(c.after)
		switch {
		case wasErr != nil || isErr != nil:
			return nil, errors.Join(wasErr, isErr)
		case was && is:
			all = append(all, telling{c.version, "MODIFIED " + c.after})
		case is:
			all = append(all, telling{c.version, "ADDED " + c.after})
		case was:
			all = append(all, telling{c.version, "DELETED " + at(c.before, c.version)})
		}
	}
	return all, nil
}

// initially returns the events with which a watch begins that tells first what there is at a
// version.
func (o *oracle) initially(version uint64, s selection) (events []string, err error) {
	pods := map[string]string{}
	for _, c := range o.changes {
		if c.version > version {
			break
		}
		if pods[nameIn(c.before+c.after)] = c.after; c.after == "" {
			delete(pods, nameIn(c.before))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		is, err := s.has(pods[name])
		if err != nil {
			return nil, err
		}
		if is {
			events = append(events, "ADDED "+pods[name])
		}
	}
	return events, nil
}

// nameIn returns the name of the first pod in a text.
func nameIn(text string) string {
	_, text, _ = strings.Cut(text, `"name":"`)
	name, _, _ := strings.Cut(text, `"`)
	return name
}
