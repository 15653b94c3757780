package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestEndpointsAreAtMostThreeAndHowManyFollow(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ subsets, expected string }{
		"no subsets":                               {`[]`, "<none>"},
		"no address is ready":                      {`[{"notReadyAddresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]`, ""},
		"a subset without ports":                   {`[{"addresses":[{"ip":"10.0.0.1"}]}]`, "10.0.0.1"},
		"each address with each port":              {`[{"addresses":[{"ip":"a"},{"ip":"b"}],"ports":[{"port":1}]},{"addresses":[{"ip":"c"}],"ports":[{"port":2}]}]`, "a:1,b:1,c:2"},
		"more than three":                          {`[{"addresses":[{"ip":"a"},{"ip":"b"}],"ports":[{"port":1},{"port":2}]},{"addresses":[{"ip":"c"}]}]`, "a:1,b:1,a:2 + 2 more..."},
		"an address of version six is in brackets": {`[{"addresses":[{"ip":"::1"}],"ports":[{"port":80}]}]`, "[::1]:80"},
	} {
		endpoints := object(t, &corev1.Endpoints{}, `{"metadata":{"name":"e"},"subsets":`+test.subsets+`}`)
		assert.Equal(t, map[string]any{"Name": "e", "Endpoints": test.expected, "Age": "<unknown>"}, cells(t, Endpoints, endpoints), sentence)
	}
}

func TestAnEndpointSliceHasItsPortsAndAddresses(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]map[string]any{
		`{"addressType":"IPv4"}`: {"AddressType": "IPv4", "Ports": "<unset>", "Endpoints": "<unset>"},
		`{"addressType":"IPv4","ports":[{"port":80,"name":"http"},{"name":"any"},{}],"endpoints":[{"addresses":["a","b"]},{"addresses":["c"]}]}`: {
			"Ports": "80,any,*", "Endpoints": "a,b,c",
		},
		`{"addressType":"IPv4","ports":[{},{},{},{}],"endpoints":[{"addresses":["a","b"]},{"addresses":["c","d","e"]}]}`: {
			"Ports": "*,*,* + 1 more...", "Endpoints": "a,b,c + 2 more...",
		},
	} {
		contains(t, expected, cells(t, EndpointSlices, object(t, &discoveryv1.EndpointSlice{}, text)))
	}
}
