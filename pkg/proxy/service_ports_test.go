package proxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEachPortIsServedForOneService(t *testing.T) {
	t.Parallel()
	at := func(service *corev1.Service, namespace string, age int) *corev1.Service {
		service.Namespace = namespace
		if age > 0 {
			service.CreationTimestamp = metav1.Time{Time: time.Date(2014, 6, 7, 0, 0, age, 0, time.UTC)}
		}
		return service
	}
	version := func(service *corev1.Service, resourceVersion string) *corev1.Service {
		service.ResourceVersion = resourceVersion
		return service
	}
	with := func(service *corev1.Service, change func(*corev1.ServiceSpec)) *corev1.Service {
		change(&service.Spec)
		return service
	}
	for name, row := range map[string]struct {
		services []*corev1.Service
		ports    map[int]string
		problems []string
	}{
		"none": {},
		"one of each of two": {
			[]*corev1.Service{at(service("a", 80), "x", 1), at(service("b", 81), "x", 1)}, map[int]string{80: "x/a", 81: "x/b"}, nil},
		"several, by name": {[]*corev1.Service{at(service("a", 80, 443), "x", 1)}, map[int]string{80: "x/a:p0", 443: "x/a:p1"}, nil},
		"the older one": {
			[]*corev1.Service{at(service("a", 80), "x", 2), at(service("b", 80), "x", 1)}, map[int]string{80: "x/b"},
			[]string{"PortAlreadyAllocated: port 80 is served for the older service x/b"}},
		"the smaller resourceVersion, as a number, of those of one second": {
			[]*corev1.Service{version(at(service("a", 80), "x", 1), "10"), version(at(service("b", 80), "x", 1), "9")}, map[int]string{80: "x/b"},
			[]string{"PortAlreadyAllocated: port 80 is served for the older service x/b"}},
		"the older one, also if it was changed last": {
			[]*corev1.Service{version(at(service("a", 80), "x", 2), "9"), version(at(service("b", 80), "x", 1), "10")}, map[int]string{80: "x/b"},
			[]string{"PortAlreadyAllocated: port 80 is served for the older service x/b"}},
		"the first by name of those of one age": {
			[]*corev1.Service{at(service("a", 80), "y", 1), at(service("b", 80), "x", 1)}, map[int]string{80: "x/b"},
			[]string{"PortAlreadyAllocated: port 80 is served for the older service x/b"}},
		"one without an age is of 2014": {
			[]*corev1.Service{at(service("a", 80), "x", 1), at(service("b", 80), "x", 0)}, map[int]string{80: "x/b"},
			[]string{"PortAlreadyAllocated: port 80 is served for the older service x/b"}},
		"none of a headless service": {
			[]*corev1.Service{with(service("a", 80), func(s *corev1.ServiceSpec) { s.ClusterIP = "None" })}, nil, nil},
		"none of a name elsewhere": {
			[]*corev1.Service{with(service("a", 80), func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeExternalName })}, nil, nil},
		"none of the server itself, which is no June 2014's": {[]*corev1.Service{at(service("kubernetes", 443), "default", 1), at(service("a", 443), "x", 2)}, map[int]string{443: "x/a"}, nil},
		"none of UDP, which takes no port away": {
			[]*corev1.Service{with(at(service("a", 53, 53), "x", 1), func(s *corev1.ServiceSpec) { s.Ports[0].Protocol = corev1.ProtocolUDP })},
			map[int]string{53: "x/a:p1"}, []string{"UnsupportedProtocol: port 53 is of UDP: only TCP is served"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ports, problems := portsOf(row.services)
			names := map[int]string{}
			for number, port := range ports {
				names[number] = port.name.String()
			}
			if row.ports == nil {
				row.ports = map[int]string{}
			}
			assert.Equal(t, row.ports, names)
			var told []string
			for problem := range problems {
				told = append(told, problem.reason+": "+problem.message)
			}
			assert.Equal(t, row.problems, told)
		})
	}
}

func TestTheAffinityIsThatOfTheService(t *testing.T) {
	t.Parallel()
	seconds := int32(90)
	for name, row := range map[string]struct {
		spec     corev1.ServiceSpec
		affinity time.Duration
	}{
		"none":                   {corev1.ServiceSpec{}, 0},
		"said to be none":        {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityNone}, 0},
		"three hours by default": {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP}, 3 * time.Hour},
		"a time": {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityConfig: &corev1.SessionAffinityConfig{
			ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}}, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.affinity, affinityOf(&row.spec))
		})
	}
}
