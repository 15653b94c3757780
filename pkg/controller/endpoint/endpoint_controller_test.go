package endpoint

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/workqueue"

	"kube2014/pkg/master/controllertest"
)

// endpointBench is a server with services, pods and an endpoint controller.
type endpointBench struct{ *controllertest.Bench }

func inEndpointBubble(t *testing.T, test func(t *testing.T, b *endpointBench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) { test(t, &endpointBench{shared}) })
}

// run runs a controller until the function that it returns is called.
func (b *endpointBench) run() (stop func()) {
	return controllertest.Run(b.Bench, 0, NewEndpointController)
}

func (b *endpointBench) settle() { b.Settle(time.Second) }

func webService(ports ...corev1.ServicePort) *corev1.Service {
	if ports == nil {
		ports = []corev1.ServicePort{{Port: 80}}
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: ports}}
}

// webPod returns a pod that the service selects, on a node.
func webPod(name, node string, edit ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web", "rev": "1"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "dns", ContainerPort: 53, Protocol: "UDP"}}}}},
	}
	for _, edit := range edit {
		edit(pod)
	}
	return pod
}

func atIP(ip string, ready corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	}
}

func onHost(ip string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.HostIP = ip }
}

func atHostPort(ports ...int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = nil
		for _, port := range ports {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 1000 + port, HostPort: port})
		}
	}
}

func (b *endpointBench) service(service *corev1.Service) {
	controllertest.Create(b.T, b.API.Services(), service)
}

func (b *endpointBench) pod(pod *corev1.Pod) { b.CreatePod(pod) }

func (b *endpointBench) deletePod(name string) {
	require.NoError(b.T, b.API.Pods().Delete(b.T.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func (b *endpointBench) stored() *corev1.Endpoints {
	endpoints, err := b.API.Endpoints().Get(b.T.Context(), "web")
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(b.T, err)
	return endpoints
}

// subsetTexts writes subsets as IP,IP|not ready:PORT PORT.
func subsetTexts(subsets []corev1.EndpointSubset) (texts []string) {
	ips := func(addresses []corev1.EndpointAddress) string {
		var ips []string
		for _, address := range addresses {
			ips = append(ips, address.IP)
		}
		return strings.Join(ips, ",")
	}
	for _, subset := range subsets {
		text := ips(subset.Addresses) + "|" + ips(subset.NotReadyAddresses) + ":"
		for _, port := range subset.Ports {
			text += " " + strings.Join(strings.Fields(portText(port)), "/")
		}
		texts = append(texts, text)
	}
	return texts
}

func (b *endpointBench) texts() []string {
	b.settle()
	stored := b.stored()
	require.NotNil(b.T, stored)
	return subsetTexts(stored.Subsets)
}

// K73.
func TestTheAddressesOfAService(t *testing.T) {
	t.Parallel()
	ended := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase = phase }
	}
	leaving := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }
	started := func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c"}} }
	other := func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "db"} }
	ready, notReady := corev1.ConditionTrue, corev1.ConditionFalse
	named := webService(corev1.ServicePort{Name: "a", Port: 80, TargetPort: intstr.FromString("http")},
		corev1.ServicePort{Name: "b", Port: 53, Protocol: "UDP", TargetPort: intstr.FromString("dns")},
		corev1.ServicePort{Name: "c", Port: 54, Protocol: "TCP", TargetPort: intstr.FromString("dns")})
	all := webService()
	all.Spec.PublishNotReadyAddresses = true
	selectsNothing := webService()
	selectsNothing.Spec.Selector = nil
	for name, row := range map[string]struct {
		service *corev1.Service
		pods    []*corev1.Pod
		want    []string
	}{
		"no pods": {webService(), nil, nil},
		"K16: machines with the first host port": {webService(), []*corev1.Pod{webPod("b", "10.0.0.2", atHostPort(0, 81, 82)), webPod("a", "10.0.0.1", atHostPort(80), started)},
			[]string{"|10.0.0.1: 00080/TCP", "10.0.0.2|: 00081/TCP"}},
		"a machine with a name": {webService(), []*corev1.Pod{webPod("a", "m1", atHostPort(80), onHost("10.0.0.1")), webPod("b", "10.0.0.2", atHostPort(80), onHost("10.0.0.9"))},
			[]string{"10.0.0.1,10.0.0.2|: 00080/TCP"}},
		"the host port before the pod's address": {webService(), []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80), atIP("10.1.0.1", ready))}, []string{"10.0.0.1|: 00080/TCP"}},
		"pods with an address of their own": {webService(), []*corev1.Pod{webPod("b", "m", atIP("10.1.0.2", ready)), webPod("a", "m", atIP("10.1.0.1", ready))},
			[]string{"10.1.0.1,10.1.0.2|: 00080/TCP"}},
		"both":                       {webService(), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready)), webPod("b", "10.0.0.1", atHostPort(80))}, []string{"10.0.0.1,10.1.0.1|: 00080/TCP"}},
		"not ready":                  {webService(), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", notReady)), webPod("b", "m", atIP("10.1.0.2", "Unknown"))}, []string{"|10.1.0.1,10.1.0.2: 00080/TCP"}},
		"not ready, but published":   {all, []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", notReady)), webPod("b", "m", atIP("10.1.0.2", ready), leaving)}, []string{"10.1.0.1,10.1.0.2|: 00080/TCP"}},
		"nobody reports":             {webService(), []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80))}, []string{"10.0.0.1|: 00080/TCP"}},
		"not ready, say others":      {webService(), []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80), atIP("", notReady))}, []string{"|10.0.0.1: 00080/TCP"}},
		"reported without condition": {webService(), []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80), started)}, []string{"|10.0.0.1: 00080/TCP"}},
		"no node":                    {webService(), []*corev1.Pod{webPod("a", "", atHostPort(80)), webPod("b", "", atIP("10.1.0.1", ready))}, nil},
		"neither port nor address":   {webService(), []*corev1.Pod{webPod("a", "m")}, nil},
		"ended": {webService(), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready), ended(corev1.PodFailed)),
			webPod("b", "m", atIP("10.1.0.2", ready), ended(corev1.PodSucceeded))}, nil},
		"being deleted": {webService(), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready), leaving)}, nil},
		"not selected":  {webService(), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready), other)}, nil},
		"no selector":   {selectsNothing, []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready))}, nil},
		"a target port": {webService(corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(99)}), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready))}, []string{"10.1.0.1|: 00099/TCP"}},
		"named target ports": {named, []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready)), webPod("b", "m", atIP("10.1.0.2", notReady))},
			[]string{"10.1.0.1|10.1.0.2: a/08080/TCP b/00053/UDP"}},
		"a name that no pod has": {webService(corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("no")}), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready))}, nil},
		"a name that pods give to different ports": {webService(corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}),
			[]*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready)), webPod("b", "m", atIP("10.1.0.2", ready),
				func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports[0].ContainerPort = 9090 })},
			[]string{"10.1.0.1|: 08080/TCP", "10.1.0.2|: 09090/TCP"}},
		"a host port without ports of the service": {webService([]corev1.ServicePort{}...), []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80))}, []string{"10.0.0.1|: 00080/TCP"}},
		"an address without ports of the service":  {webService([]corev1.ServicePort{}...), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready))}, []string{"10.1.0.1|:"}},
		"the protocol of the application": {webService(corev1.ServicePort{Port: 80, AppProtocol: new("http")}), []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", ready))},
			[]string{"10.1.0.1|: 00080/TCP/http"}},
		"each port at the host port of its target, or the first one": {webService(
			corev1.ServicePort{Name: "a", Port: 80, TargetPort: intstr.FromInt32(1080)}, corev1.ServicePort{Name: "b", Port: 1081},
			corev1.ServicePort{Name: "c", Port: 1081, Protocol: corev1.ProtocolUDP}, corev1.ServicePort{Name: "d", Port: 9}),
			[]*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80, 81))}, []string{"10.0.0.1|: a/00080/TCP b/00081/TCP c/00080/UDP d/00080/TCP"}},
		"a host port for several ports": {named, []*corev1.Pod{webPod("a", "10.0.0.1", atHostPort(80))}, []string{"10.0.0.1|: a/00080/TCP b/00080/UDP c/00080/TCP"}},
	} {
		for i, pod := range row.pods {
			pod.UID = types.UID(rune('a' + i))
		}
		subsets := endpointSubsetsOf(row.service, row.pods)
		assert.Equal(t, row.want, subsetTexts(subsets), name)
		assert.Equal(t, subsets, repackEndpointSubsets(subsets), name)
	}
}

func TestTheAddressInEndpointsIsOfTheFirstFamily(t *testing.T) {
	t.Parallel()
	both := webPod("a", "m", atIP("10.1.0.1", corev1.ConditionTrue), func(pod *corev1.Pod) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: "fd00::1"})
	})
	for want, families := range map[string][]corev1.IPFamily{
		"10.1.0.1|: 00080/TCP": {corev1.IPv4Protocol, corev1.IPv6Protocol},
		"fd00::1|: 00080/TCP":  {corev1.IPv6Protocol, corev1.IPv4Protocol},
	} {
		service := webService()
		service.Spec.IPFamilies = families
		assert.Equal(t, []string{want}, subsetTexts(endpointSubsetsOf(service, []*corev1.Pod{both})))
	}
	service := webService()
	service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	assert.Empty(t, endpointSubsetsOf(service, []*corev1.Pod{webPod("a", "m", atIP("10.1.0.1", corev1.ConditionTrue))}))
	assert.Equal(t, []string{"m1|: 00080/TCP"}, subsetTexts(endpointSubsetsOf(service, []*corev1.Pod{webPod("a", "m1", atHostPort(80))})))
}

func TestAPodHasAHostnameInItsSubdomain(t *testing.T) {
	t.Parallel()
	for subdomain, want := range map[string]string{"web": "first", "db": "", "": ""} {
		pod := webPod("a", "m", atIP("10.1.0.1", corev1.ConditionTrue), func(pod *corev1.Pod) { pod.Spec.Hostname, pod.Spec.Subdomain = "first", subdomain })
		assert.Equal(t, want, endpointSubsetsOf(webService(), []*corev1.Pod{pod})[0].Addresses[0].Hostname, subdomain)
	}
}

func TestPortsWithTheSameAddressesAreOneSubset(t *testing.T) {
	t.Parallel()
	address := func(ip string) []corev1.EndpointAddress { return []corev1.EndpointAddress{{IP: ip}} }
	port := func(name string, number int32) []corev1.EndpointPort {
		return []corev1.EndpointPort{{Name: name, Port: number, Protocol: "TCP"}}
	}
	assert.Equal(t, []string{"1.1.1.3|:", "1.1.1.1,1.1.1.2|: a/00001/TCP c/00001/TCP", "1.1.1.1|1.1.1.2: b/00002/TCP", "1.1.1.3|: d/00004/TCP"},
		subsetTexts(repackEndpointSubsets([]corev1.EndpointSubset{
			{Addresses: address("1.1.1.2"), Ports: port("c", 1)},
			{Addresses: address("1.1.1.3"), Ports: port("d", 4)},
			{Addresses: address("1.1.1.3")},
			{Addresses: address("1.1.1.1"), NotReadyAddresses: address("1.1.1.2"), Ports: port("b", 2)},
			{Addresses: append(address("1.1.1.2"), address("1.1.1.1")...), Ports: port("a", 1)},
			{Addresses: address("1.1.1.1"), Ports: port("c", 1)},
		})))
}

func TestEndpointsFollowServicesAndPods(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		b.run()
		b.service(webService())
		assert.Empty(t, b.texts())
		b.pod(webPod("a", "10.0.0.1", atIP("10.1.0.1", corev1.ConditionFalse)))
		assert.Equal(t, []string{"|10.1.0.1: 00080/TCP"}, b.texts())

		pod, err := b.API.Pods().Get(t.Context(), "a")
		require.NoError(t, err)
		atIP("10.1.0.1", corev1.ConditionTrue)(pod)
		_, err = b.API.Pods().UpdateStatus(t.Context(), pod)
		require.NoError(t, err)
		assert.Equal(t, []string{"10.1.0.1|: 00080/TCP"}, b.texts())
		stored := b.stored()
		assert.Equal(t, map[string]string{endpointsManagedBy: endpointsManager, corev1.IsHeadlessService: ""}, stored.Labels)
		assert.Equal(t, corev1.EndpointAddress{IP: "10.1.0.1", NodeName: new("10.0.0.1"),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: pod.UID}}, stored.Subsets[0].Addresses[0])

		_, err = b.API.Pods().Change(t.Context(), "a", func(pod *corev1.Pod) error { pod.Labels["rev"] = "2"; return nil })
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, stored.ResourceVersion, b.stored().ResourceVersion, "nothing has changed")

		_, err = b.API.Services().Change(t.Context(), "web", func(service *corev1.Service) error {
			service.Spec.Ports[0].TargetPort = intstr.FromInt32(99)
			service.Labels = map[string]string{"tier": "front"}
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, []string{"10.1.0.1|: 00099/TCP"}, b.texts())
		assert.Equal(t, "front", b.stored().Labels["tier"])

		_, err = b.API.Pods().Change(t.Context(), "a", func(pod *corev1.Pod) error { pod.Labels["app"] = "db"; return nil })
		require.NoError(t, err)
		assert.Empty(t, b.texts())
		require.NoError(t, b.API.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.settle()
		assert.Nil(t, b.stored())
	})
}

func TestEndpointsThatSomebodyChangedAreMadeRightAgain(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		b.run()
		b.service(webService())
		b.pod(webPod("a", "10.0.0.1", atIP("10.1.0.1", corev1.ConditionTrue)))
		want := []string{"10.1.0.1|: 00080/TCP"}
		require.Equal(t, want, b.texts())
		require.NoError(t, b.API.Endpoints().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		assert.Equal(t, want, b.texts())
		_, err := b.API.Endpoints().Change(t.Context(), "web", func(endpoints *corev1.Endpoints) error {
			endpoints.Subsets = nil
			endpoints.Annotations = map[string]string{"a": "b"}
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, b.texts())
		assert.Equal(t, map[string]string{"a": "b"}, b.stored().Annotations)
	})
}

func TestEndpointsOfOthersStay(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		b.run()
		none := webService()
		none.Spec.Selector = nil
		b.service(none)
		for _, name := range []string{"web", "nobody"} {
			_, err := b.API.Endpoints().Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: []corev1.EndpointSubset{
				{Addresses: []corev1.EndpointAddress{{IP: "10.2.0.1"}}, Ports: []corev1.EndpointPort{{Port: 1}}}}})
			require.NoError(t, err)
		}
		assert.Equal(t, []string{"10.2.0.1|: 00001/TCP"}, b.texts())
		_, err := b.API.Endpoints().Get(t.Context(), "nobody")
		assert.NoError(t, err)
	})
}

func TestEndpointsWhoseServiceWentWhileNobodyLookedAreDeleted(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		_, err := b.API.Endpoints().Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web",
			Labels: map[string]string{endpointsManagedBy: endpointsManager}}})
		require.NoError(t, err)
		b.run()
		b.settle()
		assert.Nil(t, b.stored())
	})
}

// The server refuses these addresses in today's API; its own sync writes them.
func TestEndpointsThatTodaysAPICannotSayAreLeftToTheServer(t *testing.T) {
	for name, node := range map[string]string{"a machine with a name": "m1", "none at all": "0.0.0.0", "link-local": "fe80::1"} {
		t.Run(name, func(t *testing.T) {
			inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
				pod := webPod("b", node, atHostPort(80))
				assert.Nil(t, endpointsOf(webService(), []*corev1.Pod{pod}, nil))
				unlabelled := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
				assert.Nil(t, endpointsOf(webService(), []*corev1.Pod{pod}, unlabelled))

				b.run()
				b.service(webService())
				b.pod(webPod("a", "10.0.0.1", atIP("10.1.0.1", corev1.ConditionTrue)))
				require.Equal(t, []string{"10.1.0.1|: 00080/TCP"}, b.texts())
				require.True(t, isManaged(b.stored()))
				if strings.Contains(node, ":") { // no name for a node
					return
				}
				b.pod(pod)
				assert.Equal(t, []string{"10.1.0.1|: 00080/TCP"}, b.texts())
				assert.False(t, isManaged(b.stored()))
				b.deletePod("b")
				b.deletePod("a")
				assert.Empty(t, b.texts())
				assert.True(t, isManaged(b.stored()))
			})
		})
	}
}

func TestEndpointsThatAreRightAreNotWrittenOnlyForTheLabel(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		b.service(webService())
		made, err := b.API.Endpoints().Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		require.NoError(t, err)
		b.run()
		b.settle()
		assert.Equal(t, made.ResourceVersion, b.stored().ResourceVersion)
	})
}

func TestEndpointsAreRightAfterFaults(t *testing.T) {
	for name, fault := range map[string]controllertest.Fault{
		"lost answers": controllertest.LoseAnswer,
		"refusals": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "no", http.StatusForbidden)
		},
		"conflicts": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "no", http.StatusConflict) },
		"not found": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "no", http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
				b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number <= 5 {
						fault(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				})
				b.run()
				b.service(webService())
				b.pod(webPod("a", "10.0.0.1", atIP("10.1.0.1", corev1.ConditionTrue)))
				time.Sleep(time.Minute)
				assert.Equal(t, []string{"10.1.0.1|: 00080/TCP"}, b.texts())
				require.NoError(t, b.API.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
				time.Sleep(time.Minute)
				b.settle()
				assert.Nil(t, b.stored())
			})
		})
	}
}

func TestEndpointsAreRightAfterAnOutageAndByAnotherController(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		stop := b.run()
		b.service(webService())
		b.pod(webPod("a", "10.0.0.1", atIP("10.1.0.1", corev1.ConditionTrue)))
		require.Equal(t, []string{"10.1.0.1|: 00080/TCP"}, b.texts())
		b.Stop()
		time.Sleep(10 * time.Minute)
		b.Restart()
		b.deletePod("a")
		time.Sleep(time.Minute)
		assert.Empty(t, b.texts())
		stop()
		b.pod(webPod("b", "10.0.0.1", atIP("10.1.0.2", corev1.ConditionTrue)))
		b.run()
		assert.Equal(t, []string{"10.1.0.2|: 00080/TCP"}, b.texts())
	})
}

func TestTheWorkOnEndpointsCanBeTraced(t *testing.T) {
	inEndpointBubble(t, func(t *testing.T, b *endpointBench) {
		b.service(webService())
		objects := informers.New(b.API, 0)
		keys := make(chan string, 10)
		e := NewEndpointController(controller.Config{Client: b.API, Informers: objects, Around: func(sync workqueue.Sync) workqueue.Sync {
			return func(ctx context.Context, key string) error { keys <- key; return sync(ctx, key) }
		}})
		ctx, cancel := context.WithCancel(t.Context())
		objects.Run(ctx)
		var running sync.WaitGroup
		running.Go(func() { e.Run(ctx, 1) })
		assert.Equal(t, "default/web", <-keys)
		b.settle()
		cancel()
		running.Wait()
	})
}
