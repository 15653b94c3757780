package kubelet

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util/workqueue"
)

// Config is what a kubelet needs.
type Config struct {
	Name     string // of the node: a machine, such as 127.0.0.2
	Address  string // the machine's IP; empty: the name if that is one, else 127.0.0.1
	Client   *clientv1.Client
	Runtime  cri.Runtime
	Recorder record.EventRecorder // nil for none
	Port     uint                 // of the HTTP server on the address; 0 takes a free one

	NodeStatusUpdateFrequency time.Duration       // how often the node's status is written; 0: every 10 seconds
	PodCIDR                   netip.Prefix        // the addresses of pods; invalid for none
	Version                   string              // of the kubelet, such as v1.36.0
	Capacity                  corev1.ResourceList // of the machine; nil: 4 CPUs, 8 GiB, 110 pods

	Listening func(address net.Addr)                                               // is called when the HTTP server listens; nil for none
	Listen    func(network, address string) (net.Listener, error)                  // nil: net.Listen
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // for probes; nil: a net.Dialer's
	Around    func(workqueue.Sync) workqueue.Sync                                  // wraps the sync of a pod; nil for nothing
}

func (config *Config) setDefaults() {
	if config.Address == "" {
		config.Address = "127.0.0.1"
		if _, err := netip.ParseAddr(config.Name); err == nil {
			config.Address = config.Name
		}
	}
	config.NodeStatusUpdateFrequency = cmp.Or(config.NodeStatusUpdateFrequency, 10*time.Second)
	if config.Capacity == nil {
		config.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	if config.Listen == nil {
		config.Listen = net.Listen
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
}
