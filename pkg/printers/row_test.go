package printers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestARowThatIsKeptHasTheAgesOfEachMoment(t *testing.T) {
	t.Parallel()
	row, err := Pods.Row(object(t, &corev1.Pod{}, `{"metadata":{"name":"one","creationTimestamp":"2026-11-21T08:34:11Z"},
		"status":{"phase":"Failed","containerStatuses":[{"name":"c","restartCount":2,`+lately+`}]}}`))
	require.NoError(t, err)
	for wait, ages := range map[time.Duration][2]string{
		0:                       {"3m", "10s"},
		time.Second:             {"3m1s", "11s"},
		999 * time.Millisecond:  {"3m", "10s"},
		400 * 24 * time.Hour:    {"400d", "400d"},
		-10*time.Second - 1:     {"2m49s", "0s"},
		-10 * time.Minute:       {`\u003cinvalid\u003e`, `\u003cinvalid\u003e`},
		-1000 * 365 * time.Hour: {`\u003cinvalid\u003e`, `\u003cinvalid\u003e`},
	} {
		assert.Equal(t, `{"cells":["one","0/0","Failed","2 (`+ages[0]+` ago)","`+ages[1]+`","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"],`+
			`"conditions":[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}]`, string(AppendRow([]byte("{"), row, now.Add(wait))), wait)
	}
}

func TestNoTextOfAnObjectIsTakenForATime(t *testing.T) {
	t.Parallel()
	event := &corev1.Event{Message: "a\x00\xff123456789012\"\\<é", LastTimestamp: ago(time.Hour), FirstTimestamp: ago(0)}
	cells := rowAt(t, Events, event, now).Cells
	assert.Equal(t, []any{"60m", "a\x00\ufffd123456789012\"\\<é", "0s"}, []any{cells[0], cells[6], cells[7]})
}

func TestAnAgeIsRightForEveryTime(t *testing.T) {
	t.Parallel()
	for timestamp, age := range map[string]string{
		"": "<unknown>", "yesterday": "<invalid>", "0001-01-01T00:00:00Z": "<unknown>",
		"2026-11-21T08:34:20.5Z": "0s", "2026-11-21T08:34:19.5+00:00": "1s", "2026-11-21T09:34:19+01:00": "2s",
		"9999-01-01T00:00:00Z": "<invalid>", "0002-01-01T00:00:00Z": "292y",
	} {
		printer := Printer{Columns: Named.Columns, Cells: of(func(*corev1.Pod) []any { return []any{Age(timestamp)} })}
		assert.Equal(t, []any{age}, rowAt(t, printer, &corev1.Pod{}, now).Cells, timestamp)
	}
}
