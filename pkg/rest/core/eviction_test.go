package core_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/policy"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

// guarded returns doors of several servers on one store, which has running pods a to e and a budget of their label.
func guarded(t *testing.T, servers int, spec, status string) []*Door {
	store, doors := memory.New(1), []*Door{}
	for range servers {
		now := func() time.Time { return Now }
		rows, budgets := policy.Resources(rest.Base{Objects: store, Now: now})
		rows = slices.Concat(rows, core.Resources(core.Config{Objects: store, Placer: registry.MakePodPlacer(store, nil), Now: now, Budgets: &budgets}))
		doors = append(doors, OpenWith(t, rows...))
	}
	for _, name := range strings.Split("abcde", "") {
		doors[0].Must("POST", Pods, Pod(name, `"labels":{"app":"web"},"finalizers":["x.y/z"]`))
		setStatus(doors[0], name, `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)
	}
	doors[0].Must("POST", budgets, `{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}}`+spec+`}}`)
	doors[0].Must("PATCH", budgets+"/web/status", `{"status":`+status+`}`, "Content-Type", MergePatch)
	return doors
}

func setStatus(d *Door, name, status string) {
	d.Must("PATCH", Pods+"/"+name+"/status", `{"status":`+status+`}`, "Content-Type", MergePatch)
}

func evict(d *Door, name, more string) Answer {
	return d.Do("POST", Pods+"/"+name+"/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+name+`"}`+more+`}`)
}

func budget(d *Door) policyv1.PodDisruptionBudgetStatus {
	var budget policyv1.PodDisruptionBudget
	d.Must("GET", budgets+"/web", "").Into(&budget)
	return budget.Status
}

func TestOfManyEvictionsAtOnceOnlyAsManySucceedAsTheBudgetAllows(t *testing.T) {
	t.Parallel()
	doors := guarded(t, 2, "", `{"observedGeneration":1,"disruptionsAllowed":3,"currentHealthy":5,"desiredHealthy":2,"expectedPods":5}`)
	var evicted atomic.Int32
	var group sync.WaitGroup
	for i, name := range strings.Split("abcde", "") {
		group.Go(func() {
			switch answer := evict(doors[i%2], name, ""); answer.Status {
			case http.StatusCreated:
				evicted.Add(1)
			default:
				assert.Equal(t, http.StatusTooManyRequests, answer.Status, answer.Text)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 3, evicted.Load())
	status, leaving := budget(doors[0]), 0
	assert.Zero(t, status.DisruptionsAllowed)
	assert.Len(t, status.DisruptedPods, 3)
	assert.Equal(t, "InsufficientPods", status.Conditions[0].Reason)
	var pods corev1.PodList
	doors[0].Must("GET", Pods, "").Into(&pods)
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			leaving++
			assert.Contains(t, status.DisruptedPods, pod.Name)
			assert.Equal(t, corev1.DisruptionTarget, pod.Status.Conditions[len(pod.Status.Conditions)-1].Type)
		}
	}
	assert.Equal(t, 3, leaving)
}

func TestABudgetRefusesEvictionsInTodaysWords(t *testing.T) {
	t.Parallel()
	const full = `"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1`
	for sentence, row := range map[string]struct {
		status     string
		code       int
		retryAfter string
		says       string
	}{
		"it is full":              {`{` + full + `}`, 429, "", "The disruption budget web needs 1 healthy pods and has 1 currently"},
		"it is not known yet":     {`{"disruptionsAllowed":1}`, 429, "10", "The disruption budget web is still being processed by the server."},
		"more are healthy":        {`{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":1}`, 429, "", "The disruption budget web does not allow evicting pods currently"},
		"its controller fails":    {`{` + full + `,"conditions":[` + condition("SyncFailed", "no scale") + `]}`, 429, "", "The disruption budget web does not allow evicting pods currently because it failed sync: no scale"},
		"its controller knows it": {`{"observedGeneration":1,"currentHealthy":2,"conditions":[` + condition("Odd", "why") + `]}`, 429, "", "The disruption budget web does not allow evicting pods currently (Odd): why"},
		"too many are on the way": {`{"observedGeneration":1,"disruptionsAllowed":1,"disruptedPods":{` + disrupted(2001) + `}}`, 403, "",
			`poddisruptionbudget.policy "web" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			d := guarded(t, 1, "", row.status)[0]
			answer := evict(d, "a", "")
			require.Equal(t, row.code, answer.Status, answer.Text)
			assert.Equal(t, row.retryAfter, answer.Header.Get("Retry-After"))
			status := answer.Error()
			if row.code == 403 {
				assert.Equal(t, row.says, status.Message)
				return
			}
			assert.Equal(t, "Cannot evict pod as it would violate the pod's disruption budget.", status.Message)
			assert.Equal(t, policyv1.DisruptionBudgetCause, status.Details.Causes[0].Type)
			assert.Equal(t, row.says, status.Details.Causes[0].Message)
		})
	}
}

func condition(reason, message string) string {
	return `{"type":"DisruptionAllowed","status":"False","reason":"` + reason + `","message":"` + message + `","lastTransitionTime":"2026-01-01T00:00:00Z"}`
}

func disrupted(n int) string {
	pods := make([]string, n)
	for i := range pods {
		pods[i] = fmt.Sprintf(`"p%d":"2026-01-01T00:00:00Z"`, i)
	}
	return strings.Join(pods, ",")
}

func TestPodsThatDoNotCountAreEvictedWhateverABudgetSays(t *testing.T) {
	t.Parallel()
	const full, whole = `{"observedGeneration":1}`, `{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":2}`
	for sentence, row := range map[string]struct {
		spec, budget, pod string
		code              int
	}{
		"one that waits":                {"", full, `{"phase":"Pending"}`, 201},
		"one that has ended":            {"", full, `{"phase":"Failed"}`, 201},
		"one that is not ready":         {"", whole, `{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}`, 201},
		"but not where too few are":     {"", full, `{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}`, 429},
		"unless the budget allows it":   {`,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, full, `{"phase":"Running","conditions":null}`, 201},
		"as long as they are not ready": {`,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, full, `{"phase":"Running"}`, 429},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			d := guarded(t, 1, row.spec, row.budget)[0]
			setStatus(d, "a", row.pod)
			answer := evict(d, "a", "")
			assert.Equal(t, row.code, answer.Status, answer.Text)
			assert.Empty(t, budget(d).DisruptedPods)
		})
	}
}

func TestAnEvictionIsADeleteWithItsOptions(t *testing.T) {
	t.Parallel()
	d := guarded(t, 1, "", `{"observedGeneration":1,"disruptionsAllowed":5}`)[0]
	for more, want := range map[string]string{
		`,"deleteOptions":{"preconditions":{"uid":"x"}}`:                             `the UID in the precondition (x) does not match the UID in record (`,
		`,"deleteOptions":{"preconditions":{"resourceVersion":"1"}}`:                 `the ResourceVersion in the precondition (1) does not match`,
		`,"deleteOptions":{"dryRun":["x"]}`:                                          `Unsupported value: ["x"]`,
		`,"deleteOptions":{"ignoreStoreReadErrorWithClusterBreakingPotential":true}`: "can not be set for pod eviction, try after removing the option",
		`,"metadata":{"name":"b"}`:                                                   "name in URL does not match name in Eviction object",
		`,"metadata":{"name":"a","namespace":"b"}`:                                   "the namespace of the provided object does not match the namespace sent on the request",
	} {
		answer := evict(d, "a", more)
		assert.Contains(t, answer.Error().Message, want, more)
	}
	before := budget(d).DisruptionsAllowed
	assert.Equal(t, 201, evict(d, "b", `,"deleteOptions":{"dryRun":["All"]}`).Status)
	d.Must("POST", Pods+"/b/eviction?dryRun=All", `{"metadata":{"name":"b"}}`)
	assert.Nil(t, d.Must("GET", Pods+"/b", "").Meta().DeletionTimestamp)
	assert.Equal(t, before, budget(d).DisruptionsAllowed)

	uid := string(d.Must("GET", Pods+"/b", "").Meta().UID)
	answer := evict(d, "b", `,"deleteOptions":{"preconditions":{"uid":"`+uid+`"}}`)
	assert.Equal(t, 201, answer.Status, answer.Text)
	assert.Equal(t, before-1, budget(d).DisruptionsAllowed)
	assert.NotNil(t, d.Must("GET", Pods+"/b", "").Meta().DeletionTimestamp)
	assert.Equal(t, 404, evict(d, "none", "").Status)
	d.Must("DELETE", budgets+"/web", "")
	assert.Equal(t, 201, evict(d, "c", "").Status, "no budget guards it")
	assert.Equal(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`, strings.TrimSpace(evict(d, "c", "").Text), "nor one that ends")
}

func TestAPodOfSeveralBudgetsIsNotEvicted(t *testing.T) {
	t.Parallel()
	d := guarded(t, 1, "", `{"observedGeneration":1,"disruptionsAllowed":5}`)[0]
	d.Must("POST", budgets, `{"metadata":{"name":"all"},"spec":{"selector":{}}}`)
	d.Must("POST", budgets, `{"metadata":{"name":"none"},"spec":{}}`)
	answer := evict(d, "a", "")
	assert.Equal(t, 500, answer.Status)
	assert.Equal(t, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", answer.Error().Message)
}

func TestAPodThatBecomesReadyMeanwhileCounts(t *testing.T) {
	t.Parallel()
	store, now := memory.New(1), func() time.Time { return Now }
	var d *Door
	asked := watchingStore{store, func() {
		setStatus(d, "a", `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)
	}}
	rows, budgets := policy.Resources(rest.Base{Objects: asked, Now: now})
	pods := core.Resources(core.Config{Objects: store, Placer: registry.MakePodPlacer(store, nil), Now: now, Budgets: &budgets})
	d = OpenWith(t, slices.Concat(rows, pods)...)
	d.Must("POST", Pods, Pod("a", `"labels":{"app":"web"}`))
	setStatus(d, "a", `{"phase":"Running"}`)
	_, err := rows[0].Storage.(rest.Creater).Create(t.Context(), rest.Key{Namespace: "default"}, makeBudget(), rest.WriteOptions{})
	require.NoError(t, err)
	answer := evict(d, "a", "")
	assert.Equal(t, 429, answer.Status, answer.Text)
	assert.Equal(t, "The disruption budget web is still being processed by the server.", answer.Error().Details.Causes[0].Message)
	d.Must("GET", Pods+"/a", "")
}

func makeBudget() *policyv1.PodDisruptionBudget {
	always := policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}, UnhealthyPodEvictionPolicy: &always}}
}

// watchingStore is a store that tells when its objects are listed.
type watchingStore struct {
	storage.Interface
	listed func()
}

func (s watchingStore) List(selection storage.Selection) (*storage.List, error) {
	defer s.listed()
	return s.Interface.List(selection)
}
