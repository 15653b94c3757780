package endpointslice

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"

	"kube2014/pkg/master/controllertest"
)

// Benchmark5000PodsBecomeReady measures the time until slices say that 5,000 pods are ready, and what the controller writes
// for it; and the same of one pod more.
func Benchmark5000PodsBecomeReady(b *testing.B) {
	const count = 5000
	for b.Loop() {
		bench := controllertest.New(b)
		server, client := bench.Server, bench.API
		var writes, bytes atomic.Int64
		server.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method != http.MethodGet {
				writes.Add(1)
				bytes.Add(req.ContentLength)
			}
			next.ServeHTTP(w, req)
		})
		config := controller.Config{Client: server.Client(b, "controller"), Informers: informers.New(server.Client(b, "informers"), 10*time.Second), Recorder: bench}
		controller := NewEndpointSliceController(config)
		servertest.Run(b, func(ctx context.Context) {
			config.Informers.Run(ctx)
			controller.Run(ctx, 2)
		})
		_, err := client.Services().Create(b.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}})
		require.NoError(b, err)
		setReady := func(i int, ready corev1.ConditionStatus) {
			pod, err := client.Pods().Get(b.Context(), fmt.Sprint("web-", i))
			require.NoError(b, err)
			pod.Status.PodIP = fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)
			pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
			_, err = client.Pods().UpdateStatus(b.Context(), pod)
			require.NoError(b, err)
		}
		waitFor := func(want int) {
			for {
				ready := 0
				for slice, err := range client.EndpointSlices().All(b.Context(), metav1.ListOptions{}) {
					require.NoError(b, err)
					for _, endpoint := range slice.Endpoints {
						if *endpoint.Conditions.Ready {
							ready++
						}
					}
				}
				if ready == want {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		report := func(name string, began time.Time) {
			b.ReportMetric(time.Since(began).Seconds(), "s/"+name)
			b.ReportMetric(float64(writes.Swap(0)), "writes/"+name)
			b.ReportMetric(float64(bytes.Swap(0))/1e6, "MB/"+name)
		}
		for i := range count {
			_, err := client.Pods().Create(b.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i%200), Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
			require.NoError(b, err)
		}
		writes.Store(0)
		bytes.Store(0)
		began := time.Now()
		for i := range count { // first each has an address, then it is ready
			setReady(i, corev1.ConditionFalse)
			if i >= 100 {
				setReady(i-100, corev1.ConditionTrue)
			}
		}
		for i := count - 100; i < count; i++ {
			setReady(i, corev1.ConditionTrue)
		}
		waitFor(count)
		report("all", began)
		began = time.Now()
		setReady(2500, corev1.ConditionFalse)
		waitFor(count - 1)
		report("one", began)
		service, err := client.Services().Get(b.Context(), "web")
		require.NoError(b, err)
		began = time.Now()
		controller.plan(service)
		b.ReportMetric(time.Since(began).Seconds()*1000, "ms/plan")
		b.ReportMetric(float64(len(controller.slices.Store().ByIndex(ofService, "default/web"))), "slices")
	}
}
