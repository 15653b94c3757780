//go:build unix

package orphan

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAProcessOfAnotherSessionDidNotStartThisOne(t *testing.T) {
	t.Parallel()
	if session, _ := unix.Getsid(0); session == os.Getpid() {
		t.Skip("the test leads a session")
	}
	for _, elsewhere := range []bool{false, true} {
		cmd := exec.Command("cat")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: elsewhere}
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		assert.Equal(t, elsewhere, isForeign(cmd.Process.Pid))
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}
