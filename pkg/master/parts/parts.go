// Package parts runs the other programs of a cluster in the process of an apiserver, or around one elsewhere.
package parts

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/kubelet"
	"kube2014/pkg/kubelet/hollow"
	"kube2014/pkg/options"
	"kube2014/pkg/proxy"
	"kube2014/pkg/scheduler"
	"kube2014/pkg/server"
	"kube2014/pkg/trace"
	"kube2014/pkg/util"
)

const (
	// resyncPeriod is the period of the resyncs of the parts: that of the original's endpoint sync.
	resyncPeriod = 10 * time.Second
	// syncWorkers is the number of workers of a controller.
	syncWorkers = 4
	// stopTimeout bounds how long the server waits for its parts when it ends.
	stopTimeout = 5 * time.Second
	// partsWait bounds how long the parts wait for the post-start hooks: one that fails again and again, because of an
	// object that it cannot write, does not stop a cluster. Today's controller manager waits as long for its server.
	partsWait = 10 * time.Second
)

// Config is what parts are made from.
type Config struct {
	Options *options.ServerRunOptions
	Version string
	Listen  func(network, address string) (net.Listener, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Connect func(userAgent string) (*clientv1.Client, error) // to the server
	Tracer  *trace.Tracer                                    // nil for none
}

// Parts are the other programs of a cluster, run in the apiserver's process. Each is only a client of it.
// They are safe for concurrent use.
type Parts struct {
	config    Config
	o         *options.ServerRunOptions
	tracer    *trace.Tracer
	informers *informers.Informers
	kubelets  sync.Map // the addresses of listening kubelets, by machine

	runs   []func(ctx context.Context) error
	failed chan error // receives the first permanent failure
	ended  chan struct{}
	ctx    context.Context
	halt   context.CancelFunc
}

// New creates the parts that the flags name, as clients of a server. The error names a flag.
func New(config Config) (*Parts, error) {
	p := &Parts{config: config, o: config.Options, tracer: config.Tracer, failed: make(chan error, 1), ended: make(chan struct{})}
	p.ctx, p.halt = context.WithCancel(context.Background())
	informing, err := p.client("informers")
	if err != nil {
		return nil, err
	}
	p.informers = informers.New(informing, resyncPeriod)
	for _, part := range []struct {
		name string
		make func(c *clientv1.Client)
	}{
		{options.PartControllerManager, p.makeControllerManager},
		{options.PartScheduler, p.makeScheduler},
		{options.PartKubelet, p.makeKubelets},
		{options.PartProxy, p.makeProxy},
	} {
		if !p.o.Parts.Has(part.name) {
			continue
		}
		c, err := p.client(part.name)
		if err != nil {
			return nil, err
		}
		part.make(c)
	}
	return p, nil
}

// client returns a client for a part. Its user agent has the name of the part, for log, audit and trace.
func (p *Parts) client(part string) (*clientv1.Client, error) {
	c, err := p.config.Connect("kube2014-" + part)
	if err == nil {
		c.HTTP.Transport = p.tracer.RoundTripper(c.HTTP.Transport)
	}
	return c, err
}

// add adds a function that runs until its context ends, or fails permanently.
func (p *Parts) add(run func(ctx context.Context) error) { p.runs = append(p.runs, run) }

// addLoop is add for functions that cannot fail.
func (p *Parts) addLoop(run func(ctx context.Context)) {
	p.add(func(ctx context.Context) error {
		run(ctx)
		return nil
	})
}

// Failure returns a channel that receives the first failure of a part, nil without parts.
func (p *Parts) Failure() <-chan error {
	if p == nil {
		return nil
	}
	return p.failed
}

// Run runs the parts until the context ends or Stop is called. It is called once.
func (p *Parts) Run(ctx context.Context) {
	defer close(p.ended)
	defer context.AfterFunc(ctx, p.halt)()
	p.informers.Run(p.ctx)
	var group sync.WaitGroup
	for _, run := range p.runs {
		group.Go(func() {
			if err := run(p.ctx); err != nil && p.ctx.Err() == nil {
				select {
				case p.failed <- err:
				default: // one failure ends all
				}
			}
		})
	}
	group.Wait()
}

// RunAfter runs the parts when a channel is closed, or partsWait is over. They would take the processor from the
// post-start hooks, and be told of each built-in object.
func (p *Parts) RunAfter(ctx context.Context, started <-chan struct{}) {
	select {
	case <-started:
	case <-time.After(partsWait):
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
	util.Sleep(p.ctx, p.o.Controllers.Delay)
	p.Run(ctx)
}

// Stop ends the running parts, and waits for them up to a timeout. The error reports that they still run.
func (p *Parts) Stop() error {
	p.halt()
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("the parts have not stopped in %v", stopTimeout)
	}
}

// makeScheduler adds the scheduler.
func (p *Parts) makeScheduler(c *clientv1.Client) {
	s := scheduler.New(scheduler.Config{Client: c, Informers: p.informers, Recorder: p.recorder(c, "default-scheduler", ""), Around: p.tracer.Work("Scheduler")})
	p.addLoop(s.Run)
}

// makeKubelets adds a kubelet for each machine. Their containers are hollow.
func (p *Parts) makeKubelets(c *clientv1.Client) {
	runtime, machines := &hollow.Runtime{Listen: p.config.Listen}, p.o.Generic.Machines
	kubelets := map[string]*kubelet.Kubelet{}
	for i, cidr := range p.o.Parts.PodCIDRs(machines) {
		machine := machines[i]
		k := kubelet.New(kubelet.Config{
			Name: machine, Client: c, Runtime: runtime, Recorder: p.recorder(c, "kubelet", machine), Port: p.o.Kubelet.Port,
			NodeStatusUpdateFrequency: p.o.Parts.NodeStatusUpdateFrequency, PodCIDR: cidr, Version: server.VersionInfo(p.config.Version).GitVersion,
			Listening: func(address net.Addr) { p.kubelets.Store(machine, address.String()) },
			Listen:    p.config.Listen, Dial: p.config.Dial, Around: p.tracer.Work("Kubelet"),
		})
		kubelets[machine] = k
		p.add(k.Run)
	}
	if !p.o.Parts.Has(options.PartControllerManager) && !p.o.Parts.Has(options.PartScheduler) {
		return
	}
	see := func(node *corev1.Node) { // the nodes are watched anyway
		if k := kubelets[node.Name]; k != nil {
			k.See(node)
		}
	}
	p.informers.Nodes().AddEventHandler(cache.ResourceEventHandler[*corev1.Node]{OnAdd: see, OnUpdate: func(_, node *corev1.Node) { see(node) }})
}

// DialKubelet connects to the kubelet of a machine. The address of a kubelet in this process may have port 0,
// which stands for the port that it listens on.
func (p *Parts) DialKubelet(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" {
		if at, ok := p.kubelets.Load(host); ok {
			address = at.(string)
		}
	}
	return p.config.Dial(ctx, network, address)
}

// makeProxy adds the proxy of the machines.
func (p *Parts) makeProxy(c *clientv1.Client) {
	proxier := proxy.New(proxy.Config{Informers: p.informers, Recorder: p.recorder(c, "kube-proxy", ""), Addresses: p.o.Generic.Machines,
		Listen: p.config.Listen, Dial: p.config.Dial})
	p.addLoop(proxier.Run)
}

// recorder returns the recorder of a part's events. The host may be "".
func (p *Parts) recorder(c *clientv1.Client, component, host string) record.EventRecorder {
	r := record.NewRecorder(record.Config{Client: c, Component: component, Host: host})
	p.addLoop(r.Run)
	return r
}
