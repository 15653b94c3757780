package endpointslice

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/controller"
	"kube2014/pkg/controller/endpoint"
	"kube2014/pkg/master/servertest"
	"kube2014/pkg/util/workqueue"

	"kube2014/pkg/master/controllertest"
)

// podBench is a server with services and pods.
type podBench struct{ *bench }

func inPodBubble(t *testing.T, test func(t *testing.T, b *podBench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) { test(t, &podBench{&bench{shared}}) })
}

// run runs a controller until the function that it returns is called.
func (b *podBench) run() (stop func()) {
	return controllertest.Run(b.Bench, 0, NewEndpointSliceController)
}

// runEndpoints runs the controllers of endpoints, and of their slices.
func (b *podBench) runEndpoints() {
	client, shared := b.Client(b.T, "others"), informers.New(b.Client(b.T, "informers of others"), 10*time.Second)
	endpoints := endpoint.NewEndpointController(controller.Config{Client: client, Informers: shared})
	mirroring := NewMirroringController(controller.Config{Client: client, Informers: shared})
	servertest.Run(b.T, func(ctx context.Context) {
		shared.Run(ctx)
		go endpoints.Run(ctx, 2)
		mirroring.Run(ctx, 2)
	})
}

// countWrites counts what the controller writes, as METHOD, since it was last called.
func (b *podBench) countWrites() (count func() map[string]int) {
	var mu sync.Mutex
	writes := map[string]int{}
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() == "controller" && req.Method != http.MethodGet {
			mu.Lock()
			writes[req.Method]++
			mu.Unlock()
		}
		next.ServeHTTP(w, req)
	})
	return func() map[string]int {
		b.settle()
		mu.Lock()
		defer mu.Unlock()
		counted := writes
		writes = map[string]int{}
		return counted
	}
}

func (b *podBench) settle() { b.Settle(5 * time.Second) }

func web(edit ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	for _, edit := range edit {
		edit(service)
	}
	return service
}

// podOf returns a ready pod that the service selects.
func podOf(name, ip string, edit ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
		Status: corev1.PodStatus{PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))}}}}
	for _, edit := range edit {
		edit(pod)
	}
	return pod
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func also(ip string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip}) }
}

func (b *podBench) create(service *corev1.Service, pods ...*corev1.Pod) *corev1.Service {
	made := controllertest.Create(b.T, b.API.Services(), service)
	b.pods(pods...)
	return made
}

func (b *podBench) pods(pods ...*corev1.Pod) {
	for _, pod := range pods {
		b.CreatePod(pod)
	}
}

func (b *podBench) setReady(name string, ready corev1.ConditionStatus) {
	b.SetStatus(name, func(status *corev1.PodStatus) { status.Conditions[0].Status = ready })
}

func (b *podBench) deletePod(name string) {
	require.NoError(b.T, b.API.Pods().Delete(b.T.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func (b *podBench) change(edit func(*corev1.Service)) {
	controllertest.Change(b.T, b.API.Services(), "web", edit)
}

// slices returns all slices, by name.
func (b *podBench) slices() []*discoveryv1.EndpointSlice {
	b.settle()
	return controllertest.List(b.T, b.API.EndpointSlices())
}

// texts are the slices as TYPE PORTS: ADDRESSES; an address is followed by - if it is not ready, ! if it is serving none the
// less, and ~ if it is terminating.
func texts(all []*discoveryv1.EndpointSlice) (texts []string) {
	for _, slice := range all {
		text := string(slice.AddressType)
		for _, port := range slice.Ports {
			text += fmt.Sprint(" ", *port.Name, *port.Port)
		}
		text += ":"
		for _, endpoint := range slice.Endpoints {
			text += " " + strings.Join(endpoint.Addresses, ",")
			if !*endpoint.Conditions.Ready {
				text += "-"
			}
			if *endpoint.Conditions.Serving != *endpoint.Conditions.Ready {
				text += "!"
			}
			if *endpoint.Conditions.Terminating {
				text += "~"
			}
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

func TestASliceOfAServiceSaysWhereItsPodsAre(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		_, err := b.API.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "west"}}})
		require.NoError(t, err)
		service := b.create(web(func(service *corev1.Service) {
			service.Labels = map[string]string{"tier": "front", discoveryv1.LabelManagedBy: "x", corev1.IsHeadlessService: "x"}
			service.Spec.TrafficDistribution = new(corev1.ServiceTrafficDistributionPreferSameNode)
			service.Spec.Ports[0].AppProtocol = new("http")
		}), podOf("a", "10.1.0.1", func(pod *corev1.Pod) { pod.Spec.Hostname, pod.Spec.Subdomain = "first", "web" }))
		b.run()
		all := b.slices()
		require.Len(t, all, 1)
		slice, pod := all[0], "a"
		made, err := b.API.Pods().Get(t.Context(), pod)
		require.NoError(t, err)
		assert.Regexp(t, "^web-[0-9a-f]{5}$", slice.Name)
		assert.Equal(t, "web-", slice.GenerateName)
		assert.Equal(t, map[string]string{"tier": "front", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io", discoveryv1.LabelServiceName: "web",
			corev1.IsHeadlessService: ""}, slice.Labels)
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: service.UID, Controller: new(true), BlockOwnerDeletion: new(true)}},
			slice.OwnerReferences)
		assert.Equal(t, map[string]string{corev1.EndpointsLastChangeTriggerTime: "2030-01-02T03:04:05Z"}, slice.Annotations)
		assert.Equal(t, []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(80)), Protocol: new(corev1.ProtocolTCP), AppProtocol: new("http")}}, slice.Ports)
		assert.Equal(t, []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, Hostname: new("first"), NodeName: new("n1"), Zone: new("west"),
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: made.UID},
			Hints:      &discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: "n1"}}, ForZones: []discoveryv1.ForZone{{Name: "west"}}}}}, slice.Endpoints)

		b.change(func(service *corev1.Service) {
			service.Labels = map[string]string{"tier": "back"}
			service.Spec.TrafficDistribution = nil
		})
		b.deletePod("a")
		all = b.slices()
		require.Len(t, all, 1)
		assert.Equal(t, slice.Name, all[0].Name)
		assert.Equal(t, "back", all[0].Labels["tier"])
		assert.Empty(t, all[0].Annotations, "nobody knows since when the pod is gone")
		assert.Equal(t, []string{"IPv4:"}, texts(all), "that there are none is said, too")
	})
}

// K107.
func TestTheEndpointsInSlices(t *testing.T) {
	t.Parallel()
	publish := func(service *corev1.Service) { service.Spec.PublishNotReadyAddresses = true }
	families := func(all ...corev1.IPFamily) func(*corev1.Service) {
		return func(service *corev1.Service) { service.Spec.IPFamilies = all }
	}
	named := func(service *corev1.Service) { service.Spec.Ports[0].TargetPort = intstr.FromString("http") }
	leaving := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }
	other := func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports[0].ContainerPort = 9090 }
	sidecar := func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 1}}},
			{RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 7070}}}}
		pod.Spec.Containers[0].Ports = nil
	}
	atHost := func(node, ip string, others ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports[0].HostPort, pod.Spec.NodeName, pod.Status.HostIP = 81, node, ip
			for _, ip := range others {
				pod.Status.HostIPs = append(pod.Status.HostIPs, corev1.HostIP{IP: ip})
			}
		}
	}
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	for name, row := range map[string]struct {
		service *corev1.Service
		pods    []*corev1.Pod
		want    []string
	}{
		"none":              {web(), nil, []string{"IPv4:"}},
		"ready and not":     {web(), []*corev1.Pod{podOf("a", "10.1.0.1"), podOf("b", "10.1.0.2", notReady)}, []string{"IPv4 80: 10.1.0.1 10.1.0.2-"}},
		"being deleted":     {web(), []*corev1.Pod{podOf("a", "10.1.0.1", leaving), podOf("b", "10.1.0.2", leaving, notReady)}, []string{"IPv4 80: 10.1.0.1-!~ 10.1.0.2-~"}},
		"published":         {web(publish), []*corev1.Pod{podOf("a", "10.1.0.1", leaving), podOf("b", "10.1.0.2", notReady)}, []string{"IPv4 80: 10.1.0.1~ 10.1.0.2!"}},
		"ports by name":     {web(named), []*corev1.Pod{podOf("a", "10.1.0.1"), podOf("b", "10.1.0.2", other), podOf("c", "10.1.0.3")}, []string{"IPv4 8080: 10.1.0.1 10.1.0.3", "IPv4 9090: 10.1.0.2"}},
		"of a sidecar":      {web(named), []*corev1.Pod{podOf("a", "10.1.0.1", sidecar)}, []string{"IPv4 7070: 10.1.0.1"}},
		"K73: at the host":  {web(), []*corev1.Pod{podOf("a", "10.1.0.1", atHost("n1", "10.0.0.1"))}, []string{"IPv4 81: 10.0.0.1"}},
		"a machine of 2014": {web(), []*corev1.Pod{podOf("a", "10.1.0.1", atHost("10.0.0.2", "10.0.0.1"))}, []string{"IPv4 81: 10.0.0.2"}},
		"one with a name":   {web(), []*corev1.Pod{podOf("a", "10.1.0.1", atHost("m1", ""))}, []string{"IPv4:"}},
		"two families":      {web(families(v4, v6)), []*corev1.Pod{podOf("a", "10.1.0.1", also("FD00::1")), podOf("b", "10.1.0.2")}, []string{"IPv4 80: 10.1.0.1 10.1.0.2", "IPv6 80: fd00::1"}},
		"two, but no pod":   {web(families(v6, v4)), nil, []string{"IPv4:", "IPv6:"}},
		"only the second":   {web(families(v6)), []*corev1.Pod{podOf("a", "10.1.0.1", also("fd00::1")), podOf("b", "10.1.0.2")}, []string{"IPv6 80: fd00::1"}},
		"both at the host":  {web(families(v4, v6)), []*corev1.Pod{podOf("a", "10.1.0.1", atHost("n1", "10.0.0.1", "10.0.0.1", "fd00::9"))}, []string{"IPv4 81: 10.0.0.1", "IPv6 81: fd00::9"}},
		"those of the pods": {web(), []*corev1.Pod{podOf("a", "10.1.0.1", also("fd00::1"))}, []string{"IPv4 80: 10.1.0.1", "IPv6 80: fd00::1"}},
		"pods with IPv6":    {web(), []*corev1.Pod{podOf("a", "fd00::1")}, []string{"IPv6 80: fd00::1"}},
		"no usable address": {web(), []*corev1.Pod{podOf("a", "0.0.0.0"), podOf("b", "fe80::1"), podOf("c", "10.1.0.1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })}, []string{"IPv4:"}},
	} {
		p := &plan{service: row.service, labels: sliceLabels(row.service), isTaken: func(string) bool { return false }}
		p.make(endpointsByType(row.service, row.pods, func(string) string { return "" }), nil)
		assert.Equal(t, row.want, texts(p.create), name)
	}
}

func TestHintsAreOfTheReadyEndpoints(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		distribution, zone string
		edit               func(*corev1.Pod)
		want               *discoveryv1.EndpointHints
	}{
		"the same zone":         {corev1.ServiceTrafficDistributionPreferSameZone, "west", nil, &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "west"}}}},
		"close":                 {corev1.ServiceTrafficDistributionPreferClose, "west", nil, &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "west"}}}},
		"without a zone":        {corev1.ServiceTrafficDistributionPreferClose, "", nil, nil},
		"a node without a zone": {corev1.ServiceTrafficDistributionPreferSameNode, "", nil, &discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: "n1"}}}},
		"not ready":             {corev1.ServiceTrafficDistributionPreferSameNode, "west", notReady, nil},
		"unknown":               {"x", "west", nil, nil},
	} {
		pod := podOf("a", "10.1.0.1")
		if row.edit != nil {
			row.edit(pod)
		}
		service := web(func(service *corev1.Service) {
			service.Spec.TrafficDistribution = &row.distribution
			service.Annotations = map[string]string{corev1.AnnotationTopologyMode: "Auto"} // K107: it changes nothing
		})
		for _, of := range endpointsByType(service, []*corev1.Pod{pod}, func(string) string { return row.zone })["IPv4"] {
			assert.Equal(t, row.want, of.endpoints["a"].Hints, name)
		}
	}
}

func TestAChangeOfOnePodIsOneUpdateOfOneSlice(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		var pods []*corev1.Pod
		for i := range 250 {
			pods = append(pods, podOf(fmt.Sprintf("a%03d", i), fmt.Sprint("10.1.0.", i)))
		}
		b.create(web(), pods...)
		count := b.countWrites()
		b.run()
		assert.Equal(t, map[string]int{"POST": 3}, count())
		lengths := func() (lengths []int) {
			for _, slice := range b.slices() {
				lengths = append(lengths, len(slice.Endpoints))
			}
			slices.Sort(lengths)
			return lengths
		}
		assert.Equal(t, []int{50, 100, 100}, lengths())

		b.setReady("a120", corev1.ConditionFalse)
		assert.Equal(t, map[string]int{"PUT": 1}, count())
		_, err := b.API.Pods().Change(t.Context(), "a120", func(pod *corev1.Pod) error { pod.Labels["rev"] = "2"; return nil })
		require.NoError(t, err)
		assert.Empty(t, count(), "nothing has changed")
		b.deletePod("a010")
		assert.Equal(t, map[string]int{"PUT": 1}, count())
		assert.Equal(t, []int{50, 99, 100}, lengths())
		b.pods(podOf("b001", "10.1.1.1"))
		assert.LessOrEqual(t, count()["PUT"], 2, "it has an address, and is ready")
		assert.Equal(t, []int{50, 100, 100}, lengths(), "the fullest with room")
		b.pods(podOf("b002", "10.1.1.2"), podOf("b003", "10.1.1.3"))
		assert.Equal(t, []int{52, 100, 100}, lengths())
		b.deletePod("b001")
		b.deletePod("b002")
		b.pods(podOf("b004", "10.1.1.4"))
		assert.Equal(t, []int{51, 100, 100}, lengths(), "what is written anyway is filled up")
		_, err = b.API.Pods().Change(t.Context(), "b004", func(pod *corev1.Pod) error { pod.Labels["app"] = "db"; return nil })
		require.NoError(t, err)
		assert.Equal(t, []int{51, 99, 100}, lengths(), "it is not selected any more")
		count()

		b.change(func(service *corev1.Service) { service.Spec.Ports[0].TargetPort = intstr.FromInt32(99) })
		assert.Equal(t, map[string]int{"PUT": 3}, count(), "the slices get other ports")
		for _, slice := range b.slices() {
			assert.Equal(t, int32(99), *slice.Ports[0].Port)
		}
	})
}

// The fullest slice with room is another one.
func TestNewEndpointsFillUpASliceThatIsWrittenAnyway(t *testing.T) {
	t.Parallel()
	service := web()
	planOf := func(own []*discoveryv1.EndpointSlice, names ...string) *plan {
		var pods []*corev1.Pod
		for _, name := range names {
			pods = append(pods, podOf(name, "10.1.0.1"))
		}
		p := &plan{service: service, labels: sliceLabels(service), isTaken: func(string) bool { return false }}
		p.make(endpointsByType(service, pods, func(string) string { return "" }), own)
		return p
	}
	first, second := planOf(nil, "a", "b").create[0], planOf(nil, "c", "d", "e").create[0]
	own := []*discoveryv1.EndpointSlice{first, second}
	for _, slice := range own {
		slice.OwnerReferences[0].UID = service.UID
	}
	p := planOf(own, "a", "c", "d", "e", "f", "g")
	assert.Empty(t, p.create)
	assert.Empty(t, p.remove)
	if assert.Len(t, p.update, 1) {
		assert.Equal(t, first.Name, p.update[0].Name)
		assert.Len(t, p.update[0].Endpoints, 3)
	}
}

// Otherwise it would be made again and again while both run.
func TestTheEmptySliceThatTodaysControllerMakesOfTheOtherFamilyStays(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		edit    func(*corev1.Service)
		removed int
	}{
		"nobody knows the families": {func(*corev1.Service) {}, 0},
		"headless":                  {func(service *corev1.Service) { service.Spec.ClusterIP = corev1.ClusterIPNone }, 0},
		"it has an address":         {func(service *corev1.Service) { service.Spec.ClusterIP = "10.0.0.1" }, 1},
		"it has families":           {func(service *corev1.Service) { service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} }, 1},
	} {
		service := web(row.edit)
		empty := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: service.UID}}}, AddressType: discoveryv1.AddressTypeIPv6}
		p := &plan{service: service, labels: sliceLabels(service), isTaken: func(string) bool { return false }}
		p.make(endpointsByType(service, []*corev1.Pod{podOf("a", "10.1.0.1")}, func(string) string { return "" }), []*discoveryv1.EndpointSlice{empty})
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1"}, texts(p.create), name)
		assert.Len(t, p.remove, row.removed, name)
	}
}

func TestPortsInAnotherOrderAreTheSame(t *testing.T) {
	t.Parallel()
	a, b := discoveryv1.EndpointPort{Name: new("a"), Port: new(int32(1))}, discoveryv1.EndpointPort{Name: new("b")}
	assert.Equal(t, portsText([]discoveryv1.EndpointPort{a, b}), portsText([]discoveryv1.EndpointPort{b, a}))
	assert.NotEqual(t, portsText([]discoveryv1.EndpointPort{a}), portsText([]discoveryv1.EndpointPort{b}))
}

func TestNothingMoreIsWrittenBeforeTheCopyShowsWhatWas(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		var writes, conflicts atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case req.UserAgent() == "controller" && controllertest.IsWatch(req, "/endpointslices"):
				time.Sleep(30 * time.Second)
			case req.UserAgent() == "controller" && req.Method != http.MethodGet:
				writes.Add(1)
				recorded := httptest.NewRecorder()
				next.ServeHTTP(recorded, req)
				if recorded.Code == http.StatusConflict {
					conflicts.Add(1)
				}
				for name, values := range recorded.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(recorded.Code)
				_, _ = w.Write(recorded.Body.Bytes())
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.settle()
		b.create(web(), podOf("a", "10.1.0.1"))
		b.settle()
		b.setReady("a", corev1.ConditionFalse)
		b.settle()
		assert.Equal(t, int64(1), writes.Load())
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1-"}, texts(b.slices()))
		assert.Equal(t, int64(2), writes.Load())
		assert.Zero(t, conflicts.Load())
	})
}

func TestSlicesThatAnotherManagerMadeAreGoneOnWith(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		stop := b.run()
		service := b.create(web(), podOf("a", "10.1.0.1"), podOf("b", "10.1.0.2"), podOf("c", "10.1.0.3"))
		ours := b.slices()[0]
		stop()
		theirs := func(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
			slice := ours.DeepCopy()
			slice.ObjectMeta = metav1.ObjectMeta{Name: name, GenerateName: "web-", Labels: ours.Labels, OwnerReferences: ours.OwnerReferences}
			slice.Endpoints = endpoints
			made, err := b.API.EndpointSlices().Create(t.Context(), slice)
			require.NoError(t, err)
			return made
		}
		require.NoError(t, b.API.EndpointSlices().Delete(t.Context(), ours.Name, metav1.DeleteOptions{}))
		first, second := theirs("web-x7f3k", ours.Endpoints[:2]...), theirs("web-zzzzz", ours.Endpoints[2])
		count := b.countWrites()
		stop = b.run()
		assert.Empty(t, count())
		stop()
		_, err := b.API.EndpointSlices().Change(t.Context(), second.Name, func(slice *discoveryv1.EndpointSlice) error {
			slice.Endpoints = append(slice.Endpoints, ours.Endpoints[0]) // as after an answer that was lost, with other names
			slice.Endpoints[1].TargetRef = nil
			return nil
		})
		require.NoError(t, err)
		b.run()
		assert.Equal(t, map[string]int{"PUT": 1}, count())
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1 10.1.0.2", "IPv4 80: 10.1.0.3"}, texts(b.slices()))
		stored, err := b.API.EndpointSlices().Get(t.Context(), first.Name)
		require.NoError(t, err)
		assert.Equal(t, first.ResourceVersion, stored.ResourceVersion)

		require.NoError(t, b.API.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.settle()
		again := b.create(web())
		require.NotEqual(t, service.UID, again.UID)
		all := b.slices()
		require.Len(t, all, 1, "those of the earlier service go")
		assert.Equal(t, again.UID, all[0].OwnerReferences[0].UID)
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1 10.1.0.2 10.1.0.3"}, texts(all))
	})
}

func TestSlicesThatSomebodyChangedAreMadeRightAgain(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		b.run()
		b.create(web(), podOf("a", "10.1.0.1"))
		want := []string{"IPv4 80: 10.1.0.1"}
		all := b.slices()
		require.Equal(t, want, texts(all))
		for name, edit := range map[string]func(*discoveryv1.EndpointSlice){
			"endpoints": func(slice *discoveryv1.EndpointSlice) { slice.Endpoints = nil },
			"ports":     func(slice *discoveryv1.EndpointSlice) { slice.Ports[0].Port = new(int32(1)) },
			"labels":    func(slice *discoveryv1.EndpointSlice) { slice.Labels["a"] = "b" },
			"service":   func(slice *discoveryv1.EndpointSlice) { slice.Labels[discoveryv1.LabelServiceName] = "db" },
			"owner":     func(slice *discoveryv1.EndpointSlice) { slice.OwnerReferences = nil },
			"manager":   func(slice *discoveryv1.EndpointSlice) { delete(slice.Labels, discoveryv1.LabelManagedBy) },
		} {
			_, err := b.API.EndpointSlices().Change(t.Context(), b.slices()[0].Name, func(slice *discoveryv1.EndpointSlice) error { edit(slice); return nil })
			require.NoError(t, err)
			ours := slices.DeleteFunc(b.slices(), func(slice *discoveryv1.EndpointSlice) bool {
				if slice.Labels[discoveryv1.LabelServiceName] == "web" && isControllers(slice) {
					return false
				}
				require.NoError(t, b.API.EndpointSlices().Delete(t.Context(), slice.Name, metav1.DeleteOptions{}))
				return true
			})
			assert.Equal(t, want, texts(ours), name)
			assert.NotContains(t, ours[0].Labels, "a", name)
			assert.Len(t, ours[0].OwnerReferences, 1, name)
		}
	})
}

func TestALostAnswerMakesNoSecondSlice(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		var asked atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case req.Method == http.MethodPost && req.UserAgent() == "controller":
				if asked.Add(1) <= 3 {
					controllertest.LoseAnswer(w, req, next)
				}
			case req.UserAgent() == "controller" && controllertest.IsWatch(req, "/endpointslices"):
				time.Sleep(30 * time.Second) // the copy is behind
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.pods(podOf("a", "10.1.0.1"))
		time.Sleep(time.Second)
		b.create(web())
		time.Sleep(20 * time.Second)
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1"}, texts(b.slices()))
		assert.Greater(t, asked.Load(), int64(3))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1"}, texts(b.slices()))
	})
}

func TestSlicesAreRightAfterFaults(t *testing.T) {
	refuse := func(code int) controllertest.Fault {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "no", code) }
	}
	for name, row := range map[string]struct {
		fault   controllertest.Fault
		isEvent bool
	}{
		"lost answers": {controllertest.LoseAnswer, false},
		"refusals":     {refuse(http.StatusForbidden), true},
		"conflicts":    {refuse(http.StatusConflict), false},
		"not found":    {refuse(http.StatusNotFound), false},
		"errors":       {refuse(http.StatusInternalServerError), false},
	} {
		t.Run(name, func(t *testing.T) {
			inPodBubble(t, func(t *testing.T, b *podBench) {
				var left atomic.Int64
				b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
					if req.UserAgent() == "controller" && req.Method != http.MethodGet && left.Add(-1) >= 0 {
						row.fault(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				})
				b.run()
				left.Store(5)
				b.create(web(), podOf("a", "10.1.0.1"))
				time.Sleep(time.Minute)
				assert.Equal(t, []string{"IPv4 80: 10.1.0.1"}, texts(b.slices()))
				left.Store(5)
				b.setReady("a", corev1.ConditionFalse)
				time.Sleep(time.Minute)
				assert.Equal(t, []string{"IPv4 80: 10.1.0.1-"}, texts(b.slices()))
				left.Store(5)
				b.change(func(service *corev1.Service) { service.Spec.Selector = nil })
				time.Sleep(time.Minute)
				assert.Empty(t, b.slices())
				if row.isEvent {
					assert.Contains(t, b.TakeEvents()[0], "web Warning FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service default/web: ")
				} else {
					assert.Empty(t, b.TakeEvents())
				}
			})
		})
	}
}

// The copy still has a service that is gone, or is another one.
func TestNoSliceIsMadeForAServiceThatIsAnotherNow(t *testing.T) {
	for name, gone := range map[string]func(t *testing.T, b *podBench){
		"gone": func(t *testing.T, b *podBench) {
			require.NoError(t, b.API.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		},
		"another selector": func(t *testing.T, b *podBench) {
			b.change(func(service *corev1.Service) { service.Spec.Selector = nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inPodBubble(t, func(t *testing.T, b *podBench) {
				b.create(web(), podOf("a", "10.1.0.1"))
				b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
					if req.UserAgent() == "controller" && controllertest.IsWatch(req, "/services") {
						gone(t, b)
						time.Sleep(30 * time.Second)
					}
					next.ServeHTTP(w, req)
				})
				b.run()
				assert.Empty(t, b.slices())
				time.Sleep(time.Minute)
				assert.Empty(t, b.slices())
			})
		})
	}
}

func TestAServiceThatIsBeingDeletedGetsNoNewSlices(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		stop := b.run()
		b.create(web(func(service *corev1.Service) { service.Finalizers = []string{"a/b"} }), podOf("a", "10.1.0.1"))
		require.Len(t, b.slices(), 1)
		require.NoError(t, b.API.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.setReady("a", corev1.ConditionFalse)
		all := b.slices()
		assert.Equal(t, []string{"IPv4 80: 10.1.0.1-"}, texts(all), "those that it has are kept right")
		require.NoError(t, b.API.EndpointSlices().Delete(t.Context(), all[0].Name, metav1.DeleteOptions{}))
		assert.Empty(t, b.slices())
		stop()
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			assert.False(t, req.UserAgent() == "controller" && strings.Contains(req.URL.Path, "/namespaces/"), "there is nothing to ask")
			next.ServeHTTP(w, req)
		})
		b.run()
		assert.Empty(t, b.slices())
	})
}

// K107.
func TestSlicesOfPodsTakeThePlaceOfThoseOfEndpoints(t *testing.T) {
	for name, order := range map[string]func(b *podBench){
		"this controller first": func(b *podBench) { b.run(); b.settle(); b.runEndpoints() },
		"the mirroring first":   func(b *podBench) { b.runEndpoints(); b.settle(); b.run() },
		"both at once":          func(b *podBench) { b.runEndpoints(); b.run() },
	} {
		t.Run(name, func(t *testing.T) {
			inPodBubble(t, func(t *testing.T, b *podBench) {
				b.create(web(), podOf("a", "10.1.0.1"))
				order(b)
				all := b.slices()
				require.Len(t, all, 1)
				assert.True(t, isControllers(all[0]))
				before := all[0].ResourceVersion
				time.Sleep(time.Minute)
				all = b.slices()
				require.Len(t, all, 1)
				assert.Equal(t, before, all[0].ResourceVersion, "nobody fights")

				b.change(func(service *corev1.Service) { service.Spec.Selector = nil })
				b.settle() // a controller that does not know that yet writes the endpoints once more
				_, err := b.API.Endpoints().Change(t.Context(), "web", func(endpoints *corev1.Endpoints) error {
					endpoints.Subsets[0].Addresses = []corev1.EndpointAddress{{IP: "10.9.0.1"}}
					return nil
				})
				require.NoError(t, err)
				b.has(map[string]string{"web": "IPv4 [10.9.0.1] of web by endpointslice.kube2014"})
				b.change(func(service *corev1.Service) { service.Spec.Selector = map[string]string{"app": "web"} })
				all = b.slices()
				assert.Equal(t, []string{"IPv4 80: 10.1.0.1"}, texts(all))
				assert.True(t, isControllers(all[0]))
			})
		})
	}
}

func TestSlicesOfOthersStay(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		b.run()
		for name, manager := range map[string]string{"kubernetes": "", "db": "me"} {
			_, err := b.API.EndpointSlices().Create(t.Context(), &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: manager}}})
			require.NoError(t, err)
			_, err = b.API.Services().Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}})
			require.NoError(t, err)
		}
		b.has(map[string]string{"kubernetes": "IPv4 [] of kubernetes by ", "db": "IPv4 [] of db by me"})
	})
}

func TestTheWorkOnSlicesCanBeTraced(t *testing.T) {
	inPodBubble(t, func(t *testing.T, b *podBench) {
		b.create(web())
		keys := make(chan string, 10)
		config := controller.Config{Client: b.API, Informers: informers.New(b.API, 0), Around: func(sync workqueue.Sync) workqueue.Sync {
			return func(ctx context.Context, key string) error { keys <- key; return sync(ctx, key) }
		}}
		controller := NewEndpointSliceController(config)
		servertest.Run(t, func(ctx context.Context) {
			config.Informers.Run(ctx)
			controller.Run(ctx, 1)
		})
		assert.Equal(t, "default/web", <-keys)
		b.settle()
	})
}
