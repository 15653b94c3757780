package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestAnEventHasWhatHappenedToWhomAndWhen(t *testing.T) {
	t.Parallel()
	event := object(t, &corev1.Event{}, `{"metadata":{"name":"e"},"type":"Normal","reason":"Pulled","message":" it is here\n","count":3,
		"firstTimestamp":"2026-11-21T08:24:21Z","lastTimestamp":"2026-11-21T08:34:11Z",
		"involvedObject":{"kind":"Pod","name":"web","fieldPath":"spec.containers{c}"},"source":{"component":"kubelet","host":"n"}}`)
	assert.Equal(t, map[string]any{
		"Last Seen": "10s", "Type": "Normal", "Reason": "Pulled", "Object": "pod/web", "Subobject": "spec.containers{c}",
		"Source": "kubelet, n", "Message": "it is here", "First Seen": "10m", "Count": int64(3), "Name": "e",
	}, cells(t, Events, event))
}

func TestAnEventOfTodayHasATimeAndPerhapsASeries(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		event    string
		expected map[string]any
	}{
		"one without times":        {`{}`, map[string]any{"Last Seen": "<unknown>", "First Seen": "<unknown>", "Count": int64(1), "Object": "", "Source": ""}},
		"one that was seen once":   {`{"eventTime":"2026-11-21T08:34:01.500000Z"}`, map[string]any{"Last Seen": "19s", "First Seen": "19s", "Count": int64(1)}},
		"a first time is the last": {`{"firstTimestamp":"2026-11-21T08:34:01Z"}`, map[string]any{"Last Seen": "20s", "First Seen": "20s"}},
		"a series counts": {
			`{"eventTime":"2026-11-21T08:34:01.000000Z","count":2,"series":{"count":7,"lastObservedTime":"2026-11-21T08:34:20.000000Z"}}`,
			map[string]any{"Last Seen": "1s", "First Seen": "20s", "Count": int64(7)},
		},
		"of an object without a name": {`{"involvedObject":{"kind":"Node"}}`, map[string]any{"Object": "node"}},
		"its reporter is its source":  {`{"reportingComponent":"scheduler","reportingInstance":"s-0"}`, map[string]any{"Source": "scheduler, s-0"}},
		"unless it has one":           {`{"reportingComponent":"scheduler","source":{"component":"kubelet"}}`, map[string]any{"Source": "kubelet"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			contains(t, test.expected, cells(t, Events, object(t, &corev1.Event{}, test.event)))
		})
	}
}
