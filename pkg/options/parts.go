package options

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
)

// The values of -run.
const (
	PartAPIServer         = "apiserver"
	PartScheduler         = "scheduler"
	PartControllerManager = "controller_manager"
	PartKubelet           = "kubelet"
	PartProxy             = "proxy"
)

var parts = []string{PartAPIServer, PartScheduler, PartControllerManager, PartKubelet, PartProxy}

// PartsOptions select what this process runs: the apiserver, or parts that use one.
type PartsOptions struct {
	Parts      []string // without duplicates
	Master     string   // the URL of an apiserver in another process; "" for none
	Kubeconfig string   // a file with its URL and credentials for it; "" for none

	NodeStatusUpdateFrequency time.Duration // of kubelets
	NodeMonitorPeriod         time.Duration // of the controller manager
	NodeMonitorGracePeriod    time.Duration // how long a kubelet may be silent
	ClusterCIDR               netip.Prefix  // of pods

	// Of several controller managers, only the one that holds a lease acts.
	LeaderElect                               bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	run         util.StringList
	clusterCIDR string
}

func (o *PartsOptions) AddFlags(fs *flag.FlagSet) {
	fs.Var(&o.run, "run", "")
	fs.StringVar(&o.Master, "master", "", "")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "")
	flags.Add(fs, &o.NodeStatusUpdateFrequency, "node_status_update_frequency", flags.AsDuration, 10*time.Second)
	flags.Add(fs, &o.NodeMonitorPeriod, "node_monitor_period", flags.AsDuration, 5*time.Second)
	flags.Add(fs, &o.NodeMonitorGracePeriod, "node_monitor_grace_period", flags.AsDuration, 40*time.Second)
	flags.Add(fs, &o.LeaderElect, "leader_elect", flags.AsBool, true)
	flags.Add(fs, &o.LeaseDuration, "leader_elect_lease_duration", flags.AsDuration, 15*time.Second)
	flags.Add(fs, &o.RenewDeadline, "leader_elect_renew_deadline", flags.AsDuration, 10*time.Second)
	flags.Add(fs, &o.RetryPeriod, "leader_elect_retry_period", flags.AsDuration, 2*time.Second)
	fs.StringVar(&o.clusterCIDR, "cluster_cidr", "127.1.0.0/16", "")
}

func (o *PartsOptions) Validate(given map[string]bool) (errs flags.Problems) {
	errs = o.validateRun()
	errs.AddIf(o.NodeStatusUpdateFrequency <= 0, "-node_status_update_frequency: %s is not more than 0", o.NodeStatusUpdateFrequency)
	errs.AddIf(o.NodeMonitorPeriod <= 0, "-node_monitor_period: %s is not more than 0", o.NodeMonitorPeriod)
	errs.AddIf(o.NodeMonitorGracePeriod <= 0, "-node_monitor_grace_period: %s is not more than 0", o.NodeMonitorGracePeriod)
	errs.AddIf(o.Has(PartKubelet) && o.Has(PartControllerManager) && o.NodeMonitorGracePeriod <= o.NodeStatusUpdateFrequency,
		"-node_monitor_grace_period: %s is not more than the %s of -node_status_update_frequency", o.NodeMonitorGracePeriod, o.NodeStatusUpdateFrequency)
	errs.AddIf(o.RetryPeriod <= 0, "-leader_elect_retry_period: %s is not more than 0", o.RetryPeriod)
	errs.AddIf(o.RenewDeadline <= o.RetryPeriod, "-leader_elect_renew_deadline: %s is not more than the %s of -leader_elect_retry_period", o.RenewDeadline, o.RetryPeriod)
	errs.AddIf(o.LeaseDuration <= o.RenewDeadline, "-leader_elect_lease_duration: %s is not more than the %s of -leader_elect_renew_deadline", o.LeaseDuration, o.RenewDeadline)
	errs.AddIf(o.LeaseDuration < time.Second, "-leader_elect_lease_duration: %s is less than a second", o.LeaseDuration)
	cidr, err := netip.ParsePrefix(o.clusterCIDR)
	errs.AddIf(err != nil || !cidr.Addr().Is4() || cidr.Bits() > podBits,
		"-cluster_cidr: %s is not a block of IPv4 addresses with /%d or less, such as 127.1.0.0/16", flags.Shown(o.clusterCIDR), podBits)
	o.ClusterCIDR = cidr.Masked()
	if len(o.Parts) == 0 {
		return errs
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		takers := takenBy(name)
		errs.AddIf(len(takers) > 0 && !slices.ContainsFunc(takers, o.Has), "-%s: it is for %s, which -run does not name", name, strings.Join(takers, " or "))
	}
	return errs
}

// takenBy returns the parts that use a flag, none if all do.
func takenBy(flag string) []string {
	switch flag {
	case "run", "master", "kubeconfig", "trace", "version":
		return nil
	case "node_status_update_frequency", "cluster_cidr":
		return []string{PartKubelet}
	case "node_monitor_period", "node_monitor_grace_period",
		"leader_elect", "leader_elect_lease_duration", "leader_elect_renew_deadline", "leader_elect_retry_period":
		return []string{PartControllerManager}
	case "controllers":
		return []string{PartAPIServer, PartControllerManager}
	case "machines":
		return []string{PartAPIServer, PartKubelet, PartProxy}
	case "kubelet_port":
		return []string{PartAPIServer, PartKubelet}
	}
	return []string{PartAPIServer}
}

func (o *PartsOptions) validateRun() (errs flags.Problems) {
	for _, name := range o.run {
		switch name = strings.ReplaceAll(name, "-", "_"); {
		case name == "all":
			o.Parts = append(o.Parts, parts...)
		case slices.Contains(parts, name):
			o.Parts = append(o.Parts, name)
		default:
			errs = append(errs, fmt.Errorf("-run: %s is not apiserver, scheduler, controller_manager, kubelet, proxy or all", flags.Shown(name, o.run...)))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if len(o.Parts) == 0 {
		o.Parts = []string{PartAPIServer}
	}
	slices.Sort(o.Parts)
	o.Parts = slices.Compact(o.Parts)
	here := o.Has(PartAPIServer)
	errs.AddIf(here && o.Master != "", "-master: the apiserver is in this process")
	errs.AddIf(here && o.Master == "" && o.Kubeconfig != "", "-kubeconfig: the apiserver is in this process")
	errs.AddIf(!here && o.Master == "" && o.Kubeconfig == "", "-run: without apiserver, -master or -kubeconfig must say where it is")
	return errs
}

// Has reports whether this process runs a part.
func (o *PartsOptions) Has(part string) bool { return slices.Contains(o.Parts, part) }

// Around reports whether this process runs a part that uses an apiserver.
func (o *PartsOptions) Around() bool {
	return slices.ContainsFunc(o.Parts, func(part string) bool { return part != PartAPIServer })
}

// Connect returns a client of the apiserver in another process. The error names a flag.
func (o *PartsOptions) Connect(userAgent string) (*clientv1.Client, error) {
	c, err := clientv1.Connect(o.Master, o.Kubeconfig, userAgent)
	switch {
	case errors.Is(err, clientv1.ErrMaster) && o.Master != "":
		return nil, fmt.Errorf("-master: %s %w", flags.Shown(o.Master), err)
	case err != nil:
		return nil, fmt.Errorf("-kubeconfig: %w", err)
	}
	return c, nil
}

// podBits is the prefix length of a machine's block of pod addresses.
const podBits = 24

// PodCIDRs returns the block of pod addresses of each machine. Its number is the last byte of the
// machine's address, so that kubelets in several processes agree, or the next free one. If there are
// no free blocks, a machine has the zero prefix.
func (o *PartsOptions) PodCIDRs(machines []string) []netip.Prefix {
	blocks := 1 << (podBits - o.ClusterCIDR.Bits())
	taken, all := map[int]bool{}, make([]netip.Prefix, len(machines))
	for i, machine := range machines {
		number := i + 1
		if ip, err := netip.ParseAddr(machine); err == nil {
			bytes := ip.AsSlice()
			number = int(bytes[len(bytes)-1])
		}
		if len(taken) == blocks {
			return all
		}
		for number %= blocks; taken[number]; {
			number = (number + 1) % blocks
		}
		taken[number] = true
		start := o.ClusterCIDR.Addr().As4()
		start[1], start[2] = start[1]+byte(number>>8), start[2]+byte(number)
		all[i] = netip.PrefixFrom(netip.AddrFrom4(start), podBits)
	}
	return all
}
