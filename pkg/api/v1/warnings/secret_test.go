package warnings

import "testing"

func TestACertificateAndAKeyThatAreNoPairAreTold(t *testing.T) {
	t.Parallel()
	says(t, Secret, map[string]said{
		"no pair": {`{"type":"kubernetes.io/tls","data":{}}`, "", []string{"tls: failed to find any PEM data in certificate input"}},
		"opaque":  {`{"type":"Opaque"}`, "", nil},
	})
}
