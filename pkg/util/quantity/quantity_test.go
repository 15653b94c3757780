package quantity

import (
	"encoding/json"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		err := CheckJSON([]byte(row.body))
		if row.refusal == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, row.refusal+": the quantity has too many digits or too large an exponent", name)
		}
	}
}

func TestK25AlsoInProtobuf(t *testing.T) {
	t.Parallel()
	// The lengths of the messages around the quantity are wrong, and not looked at.
	pod := func(uid, cpu string) string {
		message := []byte("\x0a" + string(rune(len(cpu))) + cpu)
		container := corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}, ImagePullPolicy: "Always"}
		text, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}).Marshal()
		require.NoError(t, err)
		require.Contains(t, string(text), "\x0a\x011")
		return strings.Replace(string(text), "\x0a\x011", string(message), 1)
	}
	const uid = "5f5a7c4d-8a26-4a7b-9ac7-b9f5a4b0b1c2"
	for name, row := range map[string]struct {
		message string
		huge    bool
	}{
		"what people write":                        {pod(uid, "100m"), false},
		"a uid that looks the same":                {pod("7e123456-1b2c-4d5e-8f90-1234567e8901", "100m"), false},
		"an exponent of many digits":               {pod(uid, "1e12345"), true},
		"with a sign":                              {pod(uid, "-1E-12345"), true},
		"64 digits":                                {pod(uid, strings.Repeat("7", 64)), true},
		"a length that is a digit itself":          {pod(uid, strings.Repeat("0", 40)+"1e123456"), true},
		"a length that is longer than it needs be": {"\x0a\x87\x80\x001e12345B", true},
		"a field that is longer than it needs be":  {"\x8a\x80\x00\x071e12345", true},
		"a length that is too long":                {"\x0a\x87\x80\x80\x80\x80\x80\x80\x80\x80\x021e12345", true},
		"a text in another field":                  {"\x12\x071e12345", false},
		"a message that ends before its string":    {"\x0a\x081e12345", false},
		"a length that does not end":               {strings.Repeat("\xff", 1000) + "\x7f1e12345", false},
		"nothing":                                  {"", false},
	} {
		assert.Equal(t, row.huge, HugeInProtobuf([]byte(row.message)), name)
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

func TestNoHugeValueInJSONIsOverlooked(t *testing.T) {
	t.Parallel()
	random, found, passed := rand.New(rand.NewSource(1)), 0, 0
	pieces := []string{"1", "23", ".", "e", "E1234", "e12345", "+", "-", "x", " ", `\n`, `\t`, `\u0031`, `\u2028`, "/", strings.Repeat("7", 64)}
	for range 20000 {
		text := `"`
		for range random.Intn(5) {
			text += pieces[random.Intn(len(pieces))]
		}
		text += `"`
		var value string
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		switch maybe := maybeHugeJSON([]byte(`{"cpu":` + text + `}`)); {
		case hugeQuantity.MatchString(strings.TrimSpace(value)):
			require.True(t, maybe, text)
			found++
		case !maybe:
			passed++
		}
	}
	require.Greater(t, found, 1000)
	require.Greater(t, passed, 5000)
	assert.False(t, maybeHugeJSON([]byte(`{"image":"web@sha256:9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0","id":"containerd://`+strings.Repeat("0", 64)+`"}`)))
}
