package startup

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func current() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(int64(sample[0].Value.Uint64()))
}

// asProgram in the environment lets the test binary only collect garbage.
const asProgram = "KUBE2014_TEST_COLLECTS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	before := current()
	runtime.GC()
	for current() != percent {
		time.Sleep(time.Millisecond)
	}
	println(before, percent)
	os.Exit(0)
}

func TestAfterTheFirstCycleGarbageIsCollectedAsTheUserSays(t *testing.T) {
	t.Parallel()
	for gogc, want := range map[string]string{"": "200 100\n", "50": "200 50\n", "400": "400 400\n", "off": "-1 -1\n"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asProgram+"=1", "GOGC="+gogc)
		printed, err := cmd.CombinedOutput()
		assert.NoError(t, err, gogc)
		assert.Equal(t, want, string(printed), gogc)
	}
}
