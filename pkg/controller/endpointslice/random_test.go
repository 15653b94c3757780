package endpointslice

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/master/controllertest"
)

// disturb lets one of four requests of the controllers go wrong, and their watches be late.
func disturb(random *controllertest.Random) controllertest.Fault {
	return func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		switch roll := random.IntN(16); {
		case req.UserAgent() == "test":
		case req.URL.Query().Has("watch"):
			time.Sleep(random.Milliseconds(500))
		case roll == 0:
			controllertest.LoseAnswer(w, req, next)
		case roll == 1:
			panic(http.ErrAbortHandler)
		case roll == 2:
			http.Error(w, "by chance", http.StatusInternalServerError)
			return
		case roll == 3:
			http.Error(w, "by chance", http.StatusConflict)
			return
		}
		next.ServeHTTP(w, req)
	}
}

// Pods and services change, the controller is restarted, there are two of it, and requests go wrong. In the end each pod
// is in one slice, as it is in the endpoints.
func TestSlicesAgreeWithEndpointsAfterRandomChanges(t *testing.T) {
	t.Parallel()
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			inPodBubble(t, func(t *testing.T, b *podBench) {
				random := controllertest.NewRandom(uint64(seed), 7)
				b.create(web())
				var there []string
				for i := range 120 {
					there = append(there, fmt.Sprintf("a%03d", i))
					b.pods(podOf(there[i], fmt.Sprint("10.1.0.", i+1)))
				}
				b.Intercept(disturb(random))
				b.runEndpoints()
				stop, stopOther := b.run(), b.run()
				for i := range 100 {
					at := random.IntN(len(there))
					switch random.IntN(12) {
					case 0:
						stop()
						stop = b.run()
					case 1:
						stopOther()
						stopOther = b.run()
					case 2, 3, 4:
						there = append(there, fmt.Sprintf("b%03d", i))
						b.pods(podOf(there[len(there)-1], fmt.Sprint("10.1.1.", i+1), func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports[0].ContainerPort += int32(i % 2) }))
					case 5, 6, 7:
						b.deletePod(there[at])
						there = slices.Delete(there, at, at+1)
					case 8, 9:
						b.setReady(there[at], []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[i%2])
					case 10:
						b.change(func(service *corev1.Service) {
							service.Spec.Ports[0].TargetPort = []intstr.IntOrString{intstr.FromString("http"), intstr.FromInt32(80)}[i%2]
						})
					case 11:
						b.change(func(service *corev1.Service) {
							service.Spec.Selector = []map[string]string{{"app": "web"}, nil}[i%2]
						})
					}
					time.Sleep(random.Milliseconds(400))
				}
				b.change(func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "web"} })
				b.Intercept(nil)
				b.Settle(2 * time.Minute)

				endpoints, err := b.API.Endpoints().Get(t.Context(), "web")
				require.NoError(t, err)
				want, has := []string{}, []string{}
				for _, subset := range endpoints.Subsets {
					for _, address := range subset.Addresses {
						want = append(want, fmt.Sprint(address.TargetRef.Name, " ", address.IP, " ", subset.Ports[0].Port))
					}
					for _, address := range subset.NotReadyAddresses {
						want = append(want, fmt.Sprint(address.TargetRef.Name, " ", address.IP, " ", subset.Ports[0].Port, " not ready"))
					}
				}
				for slice, err := range b.API.EndpointSlices().All(t.Context(), metav1.ListOptions{}) {
					require.NoError(t, err)
					assert.True(t, isControllers(slice))
					assert.LessOrEqual(t, len(slice.Endpoints), maxPerSlice)
					for _, endpoint := range slice.Endpoints {
						text := fmt.Sprint(endpoint.TargetRef.Name, " ", endpoint.Addresses[0], " ", *slice.Ports[0].Port)
						if !*endpoint.Conditions.Ready {
							text += " not ready"
						}
						has = append(has, text)
					}
				}
				slices.Sort(want)
				slices.Sort(has)
				assert.Equal(t, want, has)
				assert.Len(t, has, len(there))
			})
		})
	}
}
