package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// V3Client is what tests need of the v3 client of pkg/etcd, which this package does not
// import because that one's tests use it.
type V3Client interface {
	SetTimeout(time.Duration)
	Close()
}

// ClosableClient is the v2 client of pkg/etcd, likewise.
type ClosableClient interface {
	Client
	V3Client
}

// members are the real etcds of one member that tests of this process have started.
var members struct {
	mu   sync.Mutex // guards what follows
	all  []*Server
	dirs []string
	free []*Server // those of Own that no test uses
}

var (
	shared      = sync.OnceValues(startMember)
	directories atomic.Int32
)

// Main is for the TestMain of a package whose tests start etcds by this package: it runs the
// tests, and then ends the etcds.
func Main(m *testing.M) {
	code := m.Run()
	if err := stopMembers(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Shared returns a client of an empty directory of a real etcd. Other tests write to
// other directories of this etcd at the same time, and its history is for all of them.
func Shared[C ClosableClient](t *testing.T, connect func(servers []string) (C, error)) Client {
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return directoryOf(t, server, connect)
}

// Own returns a client of an empty directory of a real etcd to which nobody else writes
// until the test ends. The next test gets the etcd then.
func Own[C ClosableClient](t *testing.T, connect func(servers []string) (C, error)) Client {
	return directoryOf(t, ownMember(t), connect)
}

// SharedV3 returns a client of a real etcd, and a prefix under which nobody else has
// keys. Other tests write under other prefixes at the same time, and its history is for all
// of them.
func SharedV3[C V3Client](t *testing.T, connect func(servers []string) (C, error)) (client C, prefix string) {
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return connectTo(t, server, connect), ownPrefix()
}

// OwnV3 returns a client of a real etcd to which nobody else writes until the test ends,
// and a prefix without keys. The next test gets the etcd then.
func OwnV3[C V3Client](t *testing.T, connect func(servers []string) (C, error)) (client C, prefix string) {
	return connectTo(t, ownMember(t), connect), ownPrefix()
}

// OnEach runs a test on a fake etcd and on a real one, to which nobody else writes meanwhile.
func OnEach[C ClosableClient](t *testing.T, connect func(servers []string) (C, error), test func(t *testing.T, client Client)) {
	t.Run("backend=fake", func(t *testing.T) {
		t.Parallel()
		test(t, NewFake())
	})
	t.Run("backend=etcd", func(t *testing.T) {
		t.Parallel()
		test(t, Own(t, connect))
	})
}

func directoryOf[C ClosableClient](t *testing.T, server *Server, connect func(servers []string) (C, error)) Client {
	return Below(connectTo(t, server, connect), ownPrefix())
}

func connectTo[C V3Client](t *testing.T, server *Server, connect func(servers []string) (C, error)) C {
	client, err := connect([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	client.SetTimeout(2 * hangs) // it does not hang, however slow the machine is
	return client
}

// ownPrefix returns a prefix that no other one begins with.
func ownPrefix() string { return fmt.Sprintf("/test-%06d", directories.Add(1)) }

func ownMember(t *testing.T) *Server {
	server, err := takeMember()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		members.mu.Lock()
		defer members.mu.Unlock()
		members.free = append(members.free, server)
	})
	return server
}

func takeMember() (*Server, error) {
	members.mu.Lock()
	if last := len(members.free) - 1; last >= 0 {
		defer members.mu.Unlock()
		server := members.free[last]
		members.free = members.free[:last]
		return server, nil
	}
	members.mu.Unlock()
	return startMember()
}

func startMember() (*Server, error) {
	dir, err := os.MkdirTemp("", "kube2014-etcd-")
	if err != nil {
		return nil, err
	}
	server, err := Start(dir)
	members.mu.Lock()
	defer members.mu.Unlock()
	members.dirs = append(members.dirs, dir)
	if err == nil {
		members.all = append(members.all, server)
	}
	return server, err
}

func stopMembers() error {
	members.mu.Lock()
	defer members.mu.Unlock()
	failures := []error{stopAll(members.all)}
	for _, dir := range members.dirs {
		failures = append(failures, os.RemoveAll(dir))
	}
	return errors.Join(failures...)
}
