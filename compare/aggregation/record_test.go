package aggregation

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

const (
	recording = "../../testdata/today/aggregation.json"
	variable  = "KUBE2014_RECORD" // the chapter that is recorded anew, the others are kept; or all
)

func TestKubeAPIServerIsRecorded(t *testing.T) {
	only := os.Getenv(variable)
	if only == "" {
		t.Skip(variable + "=all records it")
	}
	before, err := Load(recording)
	require.True(t, err == nil || errors.Is(err, os.ErrNotExist), err)
	var chapters []Chapter
	for _, c := range Chapters() {
		if only != "all" && only != c.Name {
			chapters = append(chapters, slices.DeleteFunc(slices.Clone(before), func(b Chapter) bool { return b.Name != c.Name })...)
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := NewWorld(t)
			server := serverstest.TodaysWith(t, serverstest.StartEtcd(t), w.AdminToken(), w.TodaysFlags()...)
			w.Record(server.URL, &c)
		})
		chapters = append(chapters, c)
	}
	require.NoError(t, Save(recording, chapters))
}

func TestTheRecordingHasTheStepsOfToday(t *testing.T) {
	t.Parallel()
	recorded, err := Load(recording)
	require.NoError(t, err)
	for _, c := range recorded {
		for i := range c.Steps {
			c.Steps[i].Answer = nil
		}
	}
	assert.Equal(t, Chapters(), recorded, "%s=all records it anew", variable)
}
