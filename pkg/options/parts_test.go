package options

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProcessRunsThePartsThatItIsTold(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"":         {"apiserver"},
		"-run all": {"apiserver", "controller_manager", "kubelet", "proxy", "scheduler"},
		"-run scheduler,apiserver -run apiserver":             {"apiserver", "scheduler"},
		"-run controller-manager -master http://127.0.0.1:80": {"controller_manager"},
	} {
		o, err := Parse(strings.Fields(args))
		require.NoError(t, err, args)
		assert.Equal(t, want, o.Parts.Parts, args)
	}
}

func TestControllerManagersAreElectedUnlessTheirRequestsAreTraced(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-run all":                      true,
		"-run all -leader_elect=false":  false,
		"-run all -trace":               false,
		"-run all -trace -leader_elect": true,
	} {
		o, err := Parse(strings.Fields(args))
		require.NoError(t, err, args)
		assert.Equal(t, want, o.Parts.LeaderElect, args)
	}
}

func TestWhereASchedulerRunsTheServerPlacesNoPods(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                              FirstFit,
		"-run all":                      NoScheduler,
		"-run all -scheduler first_fit": FirstFit,
	} {
		o, err := Parse(strings.Fields(args))
		require.NoError(t, err, args)
		assert.Equal(t, want, o.Generic.Scheduler, args)
	}
}

func TestAPartThatCannotRunAsToldIsToldWithItsFlag(t *testing.T) {
	t.Parallel()
	for args, problem := range map[string]string{
		"-run etcd":                                   `-run: "etcd" is not apiserver, scheduler, controller_manager, kubelet, proxy or all`,
		"-run scheduler":                              "-run: without apiserver, -master or -kubeconfig must say where it is",
		"-run all -master http://a":                   "-master: the apiserver is in this process",
		"-kubeconfig f":                               "-kubeconfig: the apiserver is in this process",
		"-run proxy -master http://a -port 1":         "-port: it is for apiserver, which -run does not name",
		"-node_monitor_period 1s":                     "-node_monitor_period: it is for controller_manager, which -run does not name",
		"-run scheduler -master http://a -machines b": "-machines: it is for apiserver or kubelet or proxy, which -run does not name",
		"-run all -node_monitor_grace_period 0s":      "-node_monitor_grace_period: 0s is not more than 0",
		"-run all -node_monitor_grace_period 10s":     "-node_monitor_grace_period: 10s is not more than the 10s of -node_status_update_frequency",
		"-run all -leader_elect_retry_period 0s":      "-leader_elect_retry_period: 0s is not more than 0",
		"-run all -leader_elect_renew_deadline 2s":    "-leader_elect_renew_deadline: 2s is not more than the 2s of -leader_elect_retry_period",
		"-run all -leader_elect_renew_deadline 15s":   "-leader_elect_lease_duration: 15s is not more than the 15s of -leader_elect_renew_deadline",
		"-run all -leader_elect_retry_period 1ms -leader_elect_renew_deadline 2ms -leader_elect_lease_duration 3ms": "-leader_elect_lease_duration: 3ms is less than a second",
		"-leader_elect":                              "-leader_elect: it is for controller_manager, which -run does not name",
		"-run all -kubelet_https":                    "-kubelet_https: the kubelets of this process speak HTTP",
		"-run all -node_status_update_frequency -1s": "-node_status_update_frequency: -1s is not more than 0",
		"-run all -cluster_cidr 127.1.0.0":           `-cluster_cidr: "127.1.0.0" is not a block of IPv4 addresses with /24 or less, such as 127.1.0.0/16`,
		"-run all -cluster_cidr 127.1.0.0/25":        `-cluster_cidr: "127.1.0.0/25" is not a block of IPv4 addresses with /24 or less, such as 127.1.0.0/16`,
		"-run all -cluster_cidr fd00::/8":            `-cluster_cidr: "fd00::/8" is not a block of IPv4 addresses with /24 or less, such as 127.1.0.0/16`,
	} {
		_, err := Parse(strings.Fields(args))
		assert.EqualError(t, err, problem, args)
	}
}

func TestAnApiserverElsewhereIsReachedAsTheFlagsSay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("current-context: c\ncontexts: [{name: c, context: {cluster: s}}]\nclusters: [{name: s, cluster: {server: 'http://b'}}]\n"), 0o600))
	for _, row := range []struct{ args, host, problem string }{
		{"-master http://a", "http://a", ""},
		{"-kubeconfig " + file, "http://b", ""},
		{"-kubeconfig " + file + " -master http://a", "http://a", ""},
		{"-master a", "", `-master: "a" is no URL of http or https, such as http://127.0.0.1:8080`},
		{"-kubeconfig " + file + "x", "", fmt.Sprintf("-kubeconfig: open %sx: no such file or directory", file)},
	} {
		o, err := Parse(strings.Fields("-run scheduler " + row.args))
		require.NoError(t, err, row.args)
		c, err := o.Parts.Connect("test")
		if row.problem != "" {
			assert.EqualError(t, err, row.problem)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, row.host, c.Host)
	}
}

func TestEachMachineHasItsOwnAddressesForPods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ block, machines, want string }{
		{"127.1.0.0/16", "127.0.0.1,127.0.0.3", "127.1.1.0/24 127.1.3.0/24"},
		{"127.1.0.0/16", "127.0.0.3", "127.1.3.0/24"}, // the same in a process of its own
		{"127.1.9.9/16", "a,b", "127.1.1.0/24 127.1.2.0/24"},
		{"127.1.0.0/16", "10.0.0.7,10.0.1.7,10.0.2.8", "127.1.7.0/24 127.1.8.0/24 127.1.9.0/24"},
		{"10.64.0.0/10", "127.0.0.5", "10.64.5.0/24"},
		{"127.1.4.0/23", "127.0.0.1,127.0.0.2,127.0.0.3", "127.1.5.0/24 127.1.4.0/24 invalid Prefix"},
		{"127.1.4.0/24", "127.0.0.9", "127.1.4.0/24"},
	} {
		o := PartsOptions{ClusterCIDR: netip.MustParsePrefix(row.block).Masked()}
		var got []string
		for _, prefix := range o.PodCIDRs(strings.Split(row.machines, ",")) {
			got = append(got, prefix.String())
		}
		assert.Equal(t, row.want, strings.Join(got, " "), "%s %s", row.block, row.machines)
	}
}
