package measure

import (
	"fmt"
	"net"
	"os"

	"kube2014/pkg/etcd/etcdtest"
)

// StartEtcd starts an etcd that waits for the disk, with more flags if there are any, and returns its URL. It is killed when
// the run is closed: it was only for this.
func (r *Run) StartEtcd(flags ...string) (string, error) {
	etcd, err := etcdtest.Start(r.Dir, append([]string{"--unsafe-no-fsync=false"}, flags...)...)
	if err != nil {
		return "", err
	}
	r.AtEnd(func() { _ = etcd.Kill() })
	return etcd.URL, nil
}

// StartSelf starts this program once more, with arguments that make it a server which uses Listen.
func (r *Run) StartSelf(args ...string) (Server, error) {
	self, err := os.Executable()
	if err != nil {
		return Server{}, err
	}
	return r.Start(self, args...)
}

// Listen listens on a free port of loopback, and says where in the first line of standard error, as Start wants it.
func Listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Fprintf(os.Stderr, "http://%s\n", listener.Addr())
	}
	return listener, err
}
