package endpoints

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestK25AQuantityThatTakesMinutesToComputeWithIsRefused(t *testing.T) {
	t.Parallel()
	inPod := func(container string) string {
		return `{"metadata":{"annotations":{"limits":"1e9999"}},"spec":{"containers":[{"name":"c","image":"i",` + container + `}]}}`
	}
	for name, row := range map[string]struct{ body, refusal string }{
		"an exponent of many digits":            {inPod(`"resources":{"limits":{"cpu":"1e-2147483647"}}`), "spec.containers.resources.limits.cpu"},
		"also as a number":                      {inPod(`"resources":{"requests":{"memory":1E10000}}`), "spec.containers.resources.requests.memory"},
		"300,000 digits":                        {inPod(`"resources":{"limits":{"cpu":"` + strings.Repeat("7", 300000) + `"}}`), "spec.containers.resources.limits.cpu"},
		"the divisor of a field":                {inPod(`"env":[{"name":"a","valueFrom":{"resourceFieldRef":{"divisor":"1e99999"}}}]`), "spec.containers.env.valueFrom.resourceFieldRef.divisor"},
		"a volume's limit":                      {`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e12345"}}]}}`, "spec.volumes.emptyDir.sizeLimit"},
		"what a node has":                       {`{"status":{"capacity":{"cpu":"1e12345"}}}`, "status.capacity.cpu"},
		"the largest quantity that can be kept": {inPod(`"resources":{"limits":{"memory":"9223372036854775807"}}`), ""},
		"an exponent as people write it":        {inPod(`"resources":{"limits":{"memory":"1e18","cpu":"100m"}}`), ""},
		"a variable that looks the same":        {inPod(`"env":[{"name":"limits","value":"1e-2147483647"}]`), ""},
		"an image of many digits":               {inPod(`"workingDir":"` + strings.Repeat("7", 100) + `"`), ""},
		"what is no JSON":                       {`{"limits":{"cpu":"1e99999`, ""},
	} {
		err := checkQuantities([]byte(row.body))
		if row.refusal == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, row.refusal+": the quantity has too many digits or too large an exponent", name)
		}
	}
}

func TestWhatMayBeHugeIsFoundAsByARegularExpression(t *testing.T) {
	t.Parallel()
	huge := regexp.MustCompile(`\d[\d.]{63}|[eE][+-]?\d{4}`)
	random, found := rand.New(rand.NewSource(1)), 0
	pieces := []string{"1", "23", "456", ".", "e", "E", "+", "-", "x", strings.Repeat("7", 31), strings.Repeat(".8", 16)}
	for range 20000 {
		text := ""
		for range random.Intn(12) {
			text += pieces[random.Intn(len(pieces))]
		}
		want := huge.MatchString(text)
		require.Equal(t, want, maybeHuge([]byte(text)), "%q", text)
		if want {
			found++
		}
	}
	require.Greater(t, found, 1000)
	require.Less(t, found, 19000)
}
