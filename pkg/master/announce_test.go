package master

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/options"
)

func TestTheLogNamesThePathsThatAreServed(t *testing.T) {
	t.Parallel()
	for args, paths := range map[string]string{
		"":                         "/api/v1beta1 and /api/v1 and /ui/",
		"-api_prefix /x/":          "/x and /api/v1 and /ui/",
		"-api_prefix /":            "/ and /api/v1 and /ui/",
		"-api_prefix /api/v1beta2": "/api/v1beta2 and /api/v1 and /ui/",
		"-api_prefix /api":         "/api",
		"-api_prefix /api -runtime_config api/v1beta1=false": "/api/v1 and /ui/",
		"-api_prefix /api/v1/":                               "/api/v1",
		"-api_prefix /a -runtime_config api/v1=true":         "/a",
		"-runtime_config api/v1=false":                       "/api/v1beta1",
		"-runtime_config=api/v1beta1=false":                  "/api/v1 and /ui/",
		"-runtime_config api/v1=0,api/v1beta1=0":             "/ without a version of the API",
	} {
		o, err := options.Parse(strings.Fields(args))
		require.NoError(t, err)
		assert.Equal(t, paths, pathsInWords(o), args)
	}
}

func TestOnlyLoopbackAddressesAreOutOfReachOfOthers(t *testing.T) {
	t.Parallel()
	for address, reachable := range map[string]bool{
		"127.0.0.1": false, "127.0.0.2": false, "::1": false, "0.0.0.0": true, "::": true, "192.0.2.1": true,
	} {
		assert.Equal(t, reachable, reachableByOthers(&net.TCPAddr{IP: net.ParseIP(address)}), address)
	}
}
