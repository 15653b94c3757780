package batch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/batch"
	"kube2014/pkg/storage/memory"
)

func open(t *testing.T) *Door {
	return OpenWith(t, batch.Resources(rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	open(t).Replay(t, "testdata/recorded.jsonl")
}

const jobPath = "/apis/batch/v1/namespaces/default/jobs"

func TestThePodsOfADeletedJobStayUnlessItsClientSaysOtherwise(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Must("POST", jobPath, `{"metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
	d.Must("DELETE", jobPath+"/a", "")
	assert.Equal(t, []string{metav1.FinalizerOrphanDependents}, d.Must("GET", jobPath+"/a", "").Meta().Finalizers)
}

func TestAGeneratedNameIsInTheLabelsOfThePods(t *testing.T) {
	t.Parallel()
	meta := open(t).Must("POST", jobPath, `{"metadata":{"generateName":"a-"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`).Meta()
	assert.Equal(t, meta.Name, meta.Labels["batch.kubernetes.io/job-name"])
	assert.EqualValues(t, meta.UID, meta.Labels["batch.kubernetes.io/controller-uid"])
}

func TestJobsAreSelectedByHowManyPodsSucceeded(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, name := range []string{"a", "b"} {
		d.Must("POST", jobPath, `{"metadata":{"name":"`+name+`"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
	}
	d.Must("PATCH", jobPath+"/b/status", `{"status":{"succeeded":1}}`, "Content-Type", MergePatch)
	names, _ := d.Do("GET", jobPath+"?fieldSelector=status.successful=1", "").Names()
	assert.Equal(t, []string{"b"}, names)
}
