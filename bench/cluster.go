package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/bench/measure"
	clientv1 "kube2014/pkg/client/v1"
)

// cluster is the program with all its parts, and when its pods came and left.
type cluster struct {
	measure.Server
	client *clientv1.Client
	nodes  []string // their addresses

	mu         sync.Mutex // guards what follows
	came, left map[string]time.Time
	failed     error // of the watch
}

// startCluster starts the program for a number of nodes, and waits until they are ready.
func (b *bench) startCluster(nodes int) (*cluster, error) {
	c := &cluster{came: map[string]time.Time{}, left: map[string]time.Time{}}
	for i := range nodes {
		c.nodes = append(c.nodes, fmt.Sprint("127.0.2.", i+1))
	}
	var err error
	c.Server, err = b.Start(b.program, "-run", "all", "-port", "0", "-kubelet_port", "0", "-machines", strings.Join(c.nodes, ","))
	if err != nil {
		return nil, err
	}
	c.client = clientv1.New("http://" + c.Address)
	return c, await("nodes are ready", nodes, func() (int, error) { return c.readyNodes(context.Background()) })
}

// follow begins to note when pods come and leave.
func (c *cluster) follow(b *bench) {
	ctx, end := context.WithCancel(context.Background())
	b.AtEnd(end)
	go c.watch(ctx)
}

func (c *cluster) readyNodes(ctx context.Context) (ready int, err error) {
	list, err := c.client.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, node := range list.Items {
		if slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	return ready, nil
}

// watch notes when pods begin to run, and when they are gone.
func (c *cluster) watch(ctx context.Context) {
	for event, err := range c.client.Pods().Watch(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"}) {
		now := time.Now()
		c.mu.Lock()
		switch {
		case err != nil:
			c.failed = err
		case event.Type == "ADDED":
			c.came[event.Object.Name] = now
		case event.Type == "DELETED":
			c.left[event.Object.Name] = now
		}
		c.mu.Unlock()
	}
}

// forget forgets the pods that came and left until now.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.came)
	clear(c.left)
}

// awaitCame waits until a number of pods came, and returns when the last one did.
func (c *cluster) awaitCame(n int) (time.Time, error) { return c.awaitPods("pods run", n, c.came) }

// awaitLeft waits until a number of pods left, and returns when the last one did.
func (c *cluster) awaitLeft(n int) (time.Time, error) { return c.awaitPods("pods are gone", n, c.left) }

func (c *cluster) awaitPods(what string, n int, times map[string]time.Time) (last time.Time, err error) {
	err = await(what, n, func() (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(times), c.failed
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return last, err
}

// await waits until there are as many as wanted, and says each second how many there are.
func await(what string, want int, count func() (int, error)) error {
	const patience = 2 * time.Minute
	for start, said := time.Now(), time.Now(); ; time.Sleep(50 * time.Millisecond) {
		have, err := count()
		switch {
		case err != nil:
			return err
		case have >= want:
			return nil
		case time.Since(start) > patience:
			return fmt.Errorf("after %v, %d of %d %s", patience, have, want, what)
		case time.Since(said) > time.Second:
			fmt.Fprintf(os.Stderr, "  %d of %d %s\n", have, want, what)
			said = time.Now()
		}
	}
}
