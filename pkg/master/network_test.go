package master

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheErrorForAnAddressTellsWhatToDo(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		cause error
		want  string
	}{
		"an address of another machine": {syscall.EADDRNOTAVAIL, "listen tcp: bind: cannot assign requested address: this system has no such address; " +
			"add it (macOS: sudo ifconfig lo0 alias 127.0.0.2), or choose others with -machines (make: MACHINES=127.0.0.1), -cluster_cidr or -address"},
		"a port below 1024": {syscall.EACCES, "listen tcp: bind: permission denied: a port below 1024 needs root or, on Linux, the capability CAP_NET_BIND_SERVICE"},
		"a port in use":     {syscall.EADDRINUSE, "listen tcp: bind: address already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := advised("127.0.0.2:80", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", row.cause)})
			assert.EqualError(t, err, row.want)
			assert.ErrorIs(t, err, row.cause)
		})
	}
	assert.NoError(t, advised("127.0.0.2:80", nil))
	assert.EqualError(t, advised("127.0.0.2:80", errors.New("too many words")), "too many words")
}
