package options

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/client/clienttest"
	genericoptions "kube2014/pkg/server/options"
)

// A command line is accepted with valid values, or refused in one line.
func FuzzParseFlags(f *testing.F) {
	for _, args := range []string{"", "-port=0", "-port\x00x", "-machines\x00a,b\x00-machines=c", "-api_prefix=/x/", "-scheduler=random", "serve",
		"-etcd_servers=http://127.0.0.1:4001", "-h", "-version", "--", "-a\nb", "-port=\n", "-machines=::1,a\x00-address=::1", "-etcd_\r"} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var args []string
		if line != "" {
			args = strings.Split(line, "\x00")
		}
		o, err := Parse(args)
		if err != nil {
			for text := range strings.SplitSeq(err.Error(), "\n") {
				assert.Empty(t, clienttest.Leaks(text, api.Printable(line, ' ')), err)
				assert.Less(t, len(text), 700)
			}
			return
		}
		assert.LessOrEqual(t, o.InsecureServing.Port, uint(65535))
		assert.Contains(t, []string{FirstFit, Random, RoundRobin, NoScheduler}, o.Generic.Scheduler)
		assert.True(t, genericoptions.IsHost(o.InsecureServing.Address))
		assert.NotEmpty(t, o.Generic.Machines)
		if o.Generic.Prefix != "" {
			assert.Equal(t, path.Clean(o.Generic.Prefix), o.Generic.Prefix)
		}
		for _, machine := range o.Generic.Machines {
			assert.Equal(t, "/registry/hosts/"+machine, path.Clean("/registry/hosts/"+machine))
		}
	})
}
