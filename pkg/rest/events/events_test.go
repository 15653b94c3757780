package events_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/events"
	"kube2014/pkg/storage/memory"
)

const (
	path = "/apis/events.k8s.io/v1/namespaces/default/events"
	good = `{"metadata":{"name":"e"},"eventTime":"2026-06-06T11:59:00.000000Z","reportingController":"a.b/c","reportingInstance":"i","action":"A","reason":"R",` +
		`"type":"Normal","note":"hello","regarding":{"kind":"Pod","namespace":"default","name":"p"}}`
)

// open returns a door with the events in both versions.
func open(t *testing.T) *Door {
	store, now := memory.New(1), func() time.Time { return Now }
	b := rest.Base{Objects: store, Now: now}
	return OpenWith(t, slices.Concat(events.Resources(b, time.Hour), core.Resources(core.Config{Objects: store, Now: now, EventTTL: time.Hour}))...)
}

func TestTheSameEventsAreThereInBothVersions(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Must("POST", path, good)
	var inCore corev1.Event
	d.Must("GET", Events+"/e", "").Into(&inCore)
	assert.Equal(t, "hello", inCore.Message)
	assert.Equal(t, "p", inCore.InvolvedObject.Name)
	d.Must("POST", Events, `{"metadata":{"name":"old"},"involvedObject":{"kind":"Node","namespace":"default","name":"n"},"message":"hi","count":2,"source":{"component":"x"},"firstTimestamp":"2026-06-06T11:00:00Z"}`)
	var old eventsv1.Event
	d.Must("GET", path+"/old", "").Into(&old)
	assert.Equal(t, "hi", old.Note)
	assert.Equal(t, "n", old.Regarding.Name)
	assert.EqualValues(t, 2, old.DeprecatedCount)
	assert.Equal(t, "x", old.DeprecatedSource.Component)
	for selector, want := range map[string][]string{"regarding.name=p": {"e"}, "reportingController=a.b/c": {"e"}, "type!=Normal": {"old"}, "regarding.kind=Pod,reason=R": {"e"}} {
		names, _ := d.Do("GET", path+"?fieldSelector="+strings.NewReplacer("=", "%3D", "!", "%21").Replace(selector), "").Names()
		assert.Equal(t, want, names, selector)
	}
	assert.Equal(t, 400, d.Do("GET", path+"?fieldSelector=involvedObject.name%3Dp", "").Status)
	var table [2]metav1.Table
	for i, at := range []string{path, Events} {
		d.Must("GET", at+"?includeObject=None", "", "Accept", Table).Into(&table[i])
	}
	assert.Equal(t, table[0].Rows, table[1].Rows)
}

func TestAnEventOfTheNewVersionKeepsMoreRules(t *testing.T) {
	t.Parallel()
	d := open(t)
	for without, want := range map[string]string{
		`"eventTime":"2026-06-06T11:59:00.000000Z",`: "eventTime: Required value",
		`"type":"Normal",`:                           `type: Invalid value: "": has invalid value: `,
		`"action":"A",`:                              "action: Required value",
		`"reportingController":"a.b/c",`:             "reportingController: Required value",
	} {
		assert.Contains(t, d.Do("POST", path, strings.Replace(good, without, "", 1)).Error().Message, want, without)
	}
	for with, want := range map[string]string{
		`"deprecatedCount":1`:                          `count: Invalid value: "": needs to be unset`,
		`"deprecatedSource":{"host":"h"}`:              `source: Invalid value: "": needs to be unset`,
		`"series":{"count":1,"lastObservedTime":null}`: `[series.count: Invalid value: "": should be at least 2, series.lastObservedTime: Required value]`,
		`"metadata":{"name":"A"}`:                      `Event "A" is invalid: metadata.name: Invalid value: "A": `,
	} {
		assert.Contains(t, d.Do("POST", path, strings.TrimSuffix(good, "}")+","+with+"}").Error().Message, want, with)
	}
	d.Must("POST", path, good)
	d.Must("PUT", path+"/e", strings.TrimSuffix(good, "}")+`,"series":{"count":2,"lastObservedTime":"2026-06-06T12:00:00.000000Z"}}`)
	assert.Equal(t, `Event "e" is invalid: message: Invalid value: "other": field is immutable`,
		d.Do("PUT", path+"/e", strings.Replace(good, "hello", "other", 1)).Error().Message)
	d.Must("PATCH", Events+"/e", `{"message":"other"}`, "Content-Type", MergePatch)
}
