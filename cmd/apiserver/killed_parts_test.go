package main

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/loopback/loopbacktest"
)

// The server, each part and etcd are processes that are killed by SIGKILL at any moment, for
// KUBE2014_CHAOS with each API of etcd. How much time each one has is up to chance.
func TestPartsThatAreKilledLoseNothing(t *testing.T) {
	duration := chaosTime(t)
	onBackends(t, func(t *testing.T, b backend) {
		u := startSeparately(t, b)
		u.begin()
		rises := 0
		for end := time.Now().Add(duration); time.Now().Before(end); rises++ {
			u.rise()
		}
		t.Log("scaled", rises, "times")
	})
}

// startSeparately starts the server, each part, two controller managers and etcd as processes.
func startSeparately(t *testing.T, b backend) *upheaval {
	store, block, port := b.startOne(t), loopbacktest.Claim(t), loopbacktest.FreePort(t)
	url := "http://" + net.JoinHostPort("127.0.0.1", port)
	seed := uint64(time.Now().UnixNano())
	t.Log("the seed is", seed)
	u := &upheaval{t: t, client: clientv1.New(url), random: rand.New(rand.NewPCG(seed, 2014)), patience: hangs, machines: block.Machines}
	machines, kubeletPort := strings.Join(block.Machines, ","), loopbacktest.FreePort(t)
	manager := []string{"-run", "controller_manager", "-master", url,
		"-leader_elect_lease_duration", "3s", "-leader_elect_renew_deadline", "2s", "-leader_elect_retry_period", "500ms"}
	u.victims = []victim{
		processVictim(t, "apiserver", append(b.flags(store.URL), "-scheduler", "none", "-port", port, "-kubelet_port", kubeletPort, "-machines", machines)),
		processVictim(t, "scheduler", []string{"-run", "scheduler", "-master", url}),
		processVictim(t, "controller manager", manager),
		processVictim(t, "other controller manager", manager),
		processVictim(t, "proxy", []string{"-run", "proxy", "-master", url, "-machines", machines}),
	}
	for _, machine := range block.Machines {
		u.victims = append(u.victims, processVictim(t, "kubelet of "+machine, []string{"-run", "kubelet", "-master", url, "-kubelet_port", kubeletPort, "-cluster_cidr", block.Pods, "-machines", machine}))
	}
	for _, v := range u.victims {
		v.start()
	}
	u.victims = append(u.victims, victim{"etcd",
		func() { assert.NoError(t, store.Kill()) },
		func() { assert.NoError(t, store.Restart()) }})
	t.Cleanup(u.killers.Wait)
	return u
}

// processVictim is a process that logs to a file.
func processVictim(t *testing.T, name string, flags []string) victim {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	var cmd *exec.Cmd
	v := victim{name: name}
	v.start = func() {
		cmd = exec.Command(os.Args[0], flags...)
		cmd.Env = append(os.Environ(), asProgram+"="+hurried)
		cmd.Stderr = log
		assert.NoError(t, cmd.Start())
	}
	v.kill = func() {
		assert.NoError(t, cmd.Process.Kill(), "%s has ended by itself", name)
		_ = cmd.Wait() // it was killed
	}
	t.Cleanup(func() {
		if cmd != nil {
			v.kill()
		}
		text, err := os.ReadFile(log.Name())
		assert.NoError(t, err)
		assert.NotContains(t, string(text), "panic", name)
		assert.NotContains(t, string(text), "DATA RACE", name)
		if t.Failed() {
			t.Logf("%s ended with\n%s", name, text[max(0, len(text)-3000):])
		}
	})
	return v
}
