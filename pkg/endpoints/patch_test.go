package endpoints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "kube2014/pkg/master/endpointstest"
)

// repeated returns n times a text, which has the number in it as %d.
func repeated(n int, format string) string {
	var all strings.Builder
	for i := range n {
		if i > 0 {
			all.WriteByte(',')
		}
		fmt.Fprintf(&all, format, i)
	}
	return all.String()
}

// withEnv stores a pod named web with environment variables.
func withEnv(t *testing.T, n int) *Door {
	d := Open(t)
	d.Must("POST", Pods, `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i","env":[`+repeated(n, `{"name":"E%d"}`)+`]}]}}`)
	return d
}

func TestEachKindOfPatchChangesWhatItNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, patchType, patch string }{
		{"a JSON patch", JSONPatch, `[{"op":"test","path":"/metadata/name","value":"web"},{"op":"replace","path":"/spec/containers/0/image","value":"i:2"}]`},
		{"a merge patch", MergePatch, `{"spec":{"containers":[{"name":"c","image":"i:2"}]}}`},
		{"a strategic merge patch", StrategicPatch, `{"spec":{"containers":[{"name":"c","image":"i:2"}]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := Open(t)
			var pod corev1.Pod
			d.Must("POST", Pods, Pod("web", `"labels":{"a":"b"}`))
			answer := d.Patch(Pods+"/web", row.patchType, row.patch)
			require.Equal(t, 200, answer.Status, answer.Text)
			answer.Into(&pod)
			assert.Equal(t, "i:2", pod.Spec.Containers[0].Image)
			assert.Equal(t, map[string]string{"a": "b"}, pod.Labels)
		})
	}
}

func TestAPatchThatCannotBeAppliedIsRefused(t *testing.T) {
	t.Parallel()
	d := Open(t)
	version := d.Must("POST", Pods, Pod("web", "")).Meta().ResourceVersion
	for _, row := range []struct {
		patchType, patch string
		want             int
	}{
		{JSONPatch, ``, 400}, {JSONPatch, `{}`, 400}, {JSONPatch, `[null]`, 422}, {JSONPatch, `[{"op":"boo"}]`, 422}, {JSONPatch, `[{"op":"test","path":""}]`, 422},
		{JSONPatch, `[{"op":"remove","path":""}]`, 422}, {JSONPatch, `[{"op":"test","path":"/metadata/name","value":"x"}]`, 422},
		{JSONPatch, `[{"op":"add","path":"/spec/containers/200000000","value":1}]`, 422},
		{JSONPatch, `[{"op":"replace","path":"/spec/containers","value":1}]`, 422},
		{MergePatch, ``, 400}, {MergePatch, `null`, 400}, {MergePatch, `1`, 400}, {MergePatch, `[]`, 400}, {MergePatch, `{"spec":1}`, 422},
		{MergePatch, `{"metadata":null}`, 400},
		{StrategicPatch, ``, 400}, {StrategicPatch, `[]`, 400}, {StrategicPatch, `{"$patch":"boo"}`, 400}, {StrategicPatch, `{"$patch":"delete"}`, 400},
		{StrategicPatch, `{"spec":{"containers":[null]}}`, 400}, {StrategicPatch, `{"spec":{"$retainKeys":1}}`, 400},
		{StrategicPatch, `{"spec":{"containers":[{"image":"no name"}]}}`, 400}, {StrategicPatch, `{"spec":{"$setElementOrder/containers":1}}`, 400},
	} {
		answer := d.Patch(Pods+"/web", row.patchType, row.patch)
		assert.Equal(t, row.want, answer.Status, "%s: %s", row.patch, answer.Text)
	}
	assert.Equal(t, version, d.Must("GET", Pods+"/web", "").Meta().ResourceVersion)
}

func TestK23APatchThatWouldTakeTooLongIsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, patchType, patch string
		size                   int
	}{
		{"more than 10,000 operations", JSONPatch, `[` + repeated(10001, `{"op":"add","path":"/metadata/labels","value":{"a":"%d"}}`) + `]`, 1},
		{"many operations on a long list", JSONPatch, `[` + repeated(10000, `{"op":"add","path":"/spec/containers/0/env/0","value":{"name":"A%d"}}`) + `]`, 5000},
		{"a path of many members in a large object", JSONPatch, `[{"op":"add","path":"/metadata` + strings.Repeat("/a", 1000) + `","value":1}]`, 5000},
		{"one entry merged into a long list", StrategicPatch, `{"spec":{"containers":[{"name":"c","env":[{"name":"A"}]}]}}`, 5000},
		{"a long list merged into a short one", StrategicPatch, `{"spec":{"containers":[{"name":"c","env":[` + repeated(5000, `{"name":"A%d"}`) + `]}]}}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.EqualValues(t, "RequestEntityTooLarge", withEnv(t, row.size).Patch(Pods+"/web", row.patchType, row.patch).Error().Reason)
		})
	}
	d := withEnv(t, 5000)
	assert.Equal(t, 200, d.Patch(Pods+"/web", StrategicPatch, labelled).Status, "no list is merged")
	assert.Equal(t, 422, d.Patch(Pods+"/web", JSONPatch, `[`+repeated(200, `{"op":"copy","from":"/spec","path":"/spec/s%d"}`)+`]`).Status, "what is copied is bounded too")
}

func TestTheResultOfAPatchIsCheckedAsTodaysServerDoes(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct{ name, patchType, patch, message string }{
		{"a field that pods do not have", MergePatch, `{"spec":{"typo":1}}`, `strict decoding error: unknown field "spec.typo"`},
		{"a field that pods do not have, to be merged", StrategicPatch, `{"spec":{"typo":1}}`,
			` "" is invalid: patch: Invalid value: "map[spec:map[typo:1]]": strict decoding error: unknown field "spec.typo"`},
		{"a number where a text is wanted", StrategicPatch, `{"metadata":{"labels":{"a":3}}}`,
			` "" is invalid: patch: Invalid value: "map[metadata:map[labels:map[a:3]]]": cannot convert int64 to string`},
		{"another kind", MergePatch, `{"kind":"Service"}`, "converting (v1.Service) to (core.Pod): unknown conversion"},
		{"a version that is not there", JSONPatch, `[{"op":"replace","path":"/apiVersion","value":"v7"}]`, `no kind "Pod" is registered for version "v7"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused := d.Patch(Pods+"/web?fieldValidation=Strict", row.patchType, row.patch).Error()
			assert.EqualValues(t, 422, refused.Code)
			assert.True(t, strings.HasSuffix(refused.Message, row.message), refused.Message)
		})
	}
}

func TestAMergePatchMayBeDeepAndLarge(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	deep := strings.Repeat(`{"a":`, 9000) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat(`}`, 9000)
	answer := d.Patch(Pods+"/web", MergePatch, deep)
	require.Equal(t, 200, answer.Status, "%.200s", answer.Text)
	assert.Contains(t, answer.Header.Get("Warning"), "unknown field")
}

func TestAStrategicMergePatchMakesNoObjectTooLarge(t *testing.T) {
	t.Parallel()
	d := Open(t)
	half := `"image":"i","env":[{"name":"A","value":"` + strings.Repeat("x", 2<<20) + `"}]`
	d.Must("POST", Pods, `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c",`+half+`}]}}`)
	assert.EqualValues(t, "RequestEntityTooLarge", d.Patch(Pods+"/web", StrategicPatch, `{"spec":{"containers":[{"name":"d",`+half+`}]}}`).Error().Reason)
	assert.Equal(t, 200, d.Patch(Pods+"/web", StrategicPatch, `null`).Status, "it changes nothing")
}

func TestWhatAPatchGivesTwiceIsTold(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ patchType, patch, told string }{
		{MergePatch, `{"metadata":{"labels":{"a":"b"},"labels":{"a":"c"}}}`, `duplicate field \"metadata.labels\"`},
		{StrategicPatch, `{"metadata":{"labels":{"a":"b"},"labels":{"a":"c"}}}`, `duplicate field \"metadata.labels\"`},
		{JSONPatch, `[{"op":"add","path":"/metadata/labels","value":1,"value":{"a":"c"}}]`, `duplicate field \"[0].value\"`},
	} {
		d := Open(t)
		d.Must("POST", Pods, Pod("web", ""))
		strict := d.Patch(Pods+"/web?fieldValidation=Strict", row.patchType, row.patch).Error()
		assert.EqualValues(t, 422, strict.Code)
		assert.Contains(t, strict.Message, "strict decoding error: "+strings.ReplaceAll(row.told, `\`, ""))
		warned := d.Patch(Pods+"/web", row.patchType, row.patch)
		require.Equal(t, 200, warned.Status, warned.Text)
		assert.Equal(t, `299 - "`+row.told+`"`, warned.Header.Get("Warning"))
		assert.Equal(t, map[string]string{"a": "c"}, warned.Meta().Labels)
	}
}

const labelled = `{"metadata":{"labels":{"a":"b"}}}`

func TestK22AnObjectWithManyMistakesIsRefusedInFewWords(t *testing.T) {
	t.Parallel()
	answer := Open(t).Do("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[`+repeated(20000, `{"name":"%d!"}`)+`]}}`).Error()
	assert.EqualValues(t, 422, answer.Code)
	require.Len(t, answer.Details.Causes, 101)
	assert.Contains(t, answer.Message, "errors: Too many: ")
}

func TestPatchesOfSixteenClientsAllArrive(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	const clients, each = 16, 10
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := 0; i < each; {
				switch d.Patch(Pods+"/web", MergePatch, fmt.Sprintf(`{"metadata":{"labels":{"l%d-%d":"x"}}}`, client, i)).Status {
				case 200:
					i++
				case 409: // on a slow machine the others may be first for seconds
				default:
					t.Error("a patch failed")
					return
				}
			}
		})
	}
	all.Wait()
	assert.Len(t, d.Must("GET", Pods+"/web", "").Meta().Labels, clients*each)
}

func TestATestInAPatchLetsEachIncrementArriveOnce(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", `"annotations":{"n":"0"}`))
	const clients, each = 16, 10
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for done := 0; done < each; {
				var n int
				_, err := fmt.Sscan(d.Must("GET", Pods+"/web", "").Meta().Annotations["n"], &n)
				assert.NoError(t, err)
				answer := d.Patch(Pods+"/web", JSONPatch, fmt.Sprintf(
					`[{"op":"test","path":"/metadata/annotations/n","value":"%d"},{"op":"replace","path":"/metadata/annotations/n","value":"%d"}]`, n, n+1))
				switch answer.Status {
				case 200:
					done++
				case 409, 422: // another client was first
				default:
					t.Error("a patch failed")
					return
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, fmt.Sprint(clients*each), d.Must("GET", Pods+"/web", "").Meta().Annotations["n"])
}

func TestTheVersionZeroIsAnyAndWhatIsNoVersionIsToldWithItsField(t *testing.T) {
	t.Parallel()
	d := withPods(t, 1)
	versioned := func(version string) string {
		return `{"metadata":{"resourceVersion":"` + version + `","labels":{"v":"` + "x" + `"}}}`
	}
	assert.Equal(t, 200, d.Patch(Pods+"/a", MergePatch, versioned("0")).Status)
	assert.Equal(t, 409, d.Patch(Pods+"/a", MergePatch, versioned("1")).Status)
	for _, version := range []string{"abc", "-1", "1e5", " 1"} {
		answer := d.Patch(Pods+"/a", MergePatch, versioned(version))
		assert.Equal(t, 400, answer.Status, version)
		assert.Contains(t, answer.Error().Message, "metadata.resourceVersion: Invalid value", version)
	}
	asked := strings.Replace(service, `"name":"s"`, `"name":"s","resourceVersion":"VERSION"`, 1)
	assert.Equal(t, 404, d.Do("PUT", Services+"/s", strings.Replace(asked, "VERSION", "7", 1)).Status)
	assert.Equal(t, 201, d.Do("PUT", Services+"/s", strings.Replace(asked, "VERSION", "0", 1)).Status)
}

func TestAnOperationOfAPatchWithAWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	d := withPods(t, 1)
	for patch, name := range map[string]string{`[{"op":1}]`: "op", `[{"op":"add","path":1}]`: "path", `[{"op":"move","path":"/a","from":[]}]`: "from"} {
		answer := d.Patch(Pods+"/a", JSONPatch, patch)
		assert.Equal(t, 400, answer.Status, patch)
		assert.Equal(t, "error decoding patch: "+name+" of operation 0 is not a string", answer.Error().Message)
	}
}
