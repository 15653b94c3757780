package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/bench/measure"
)

const (
	hollowNodes = 200
	hollowPods  = 5000
	pacedPods   = 500
	pace        = 50 // pods a second
	replicas    = 2000
	podPort     = 8080
)

// measureParts measures the program with all its parts, in one process. Its pods start at once.
func measureParts(b *bench) error {
	c, err := b.startCluster(hollowNodes)
	if err != nil {
		return err
	}
	c.follow(b)
	empty, err := c.ResidentMemory()
	if err != nil {
		return err
	}
	if err := measureBurst(b, c); err != nil {
		return err
	}
	full, err := c.ResidentMemory()
	if err != nil {
		return err
	}
	b.add(row{what: "memory per pod, of all parts", unit: "KB", values: []float64{float64(full-empty) / 1e3 / hollowPods},
		detail: fmt.Sprintf("%.0f MB, of which %.0f MB for %d nodes", float64(full)/1e6, float64(empty)/1e6, hollowNodes)})
	for _, measure := range []func(*bench, *cluster) error{measurePace, measureController, measureProxy} {
		if err := measure(b, c); err != nil {
			return err
		}
	}
	return nil
}

func podMeta(name, app string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}, Annotations: map[string]string{"hollow.kube2014/start-after": "0s"}}
}

var podSpec = corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: podPort}}}}}

// postObject returns the request that creates an object.
func postObject(resource string, object any) []byte {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err) // our own objects have JSON
	}
	return measure.Request("POST", "/api/v1/namespaces/default/"+resource, body, "Content-Type: application/json")
}

func postPod(prefix string, i int) []byte {
	return postObject("pods", corev1.Pod{ObjectMeta: podMeta(podName(prefix, i), prefix), Spec: podSpec})
}

func podName(prefix string, i int) string { return fmt.Sprintf("%s-%04d", prefix, i) }

// measureBurst measures how many pods come a second when all are created at once: thousand by
// thousand, as they become more.
func measureBurst(b *bench, c *cluster) error {
	start := time.Now()
	posted, err := c.SendAll(16, hollowPods, func(i int) []byte { return postPod("burst", i) })
	if err != nil {
		return err
	}
	last, err := c.awaitCame(hollowPods)
	if err != nil {
		return err
	}
	var rates []float64
	from := start
	for _, chunk := range slices.Collect(slices.Chunk(c.sorted(), 1000)) {
		to := chunk[len(chunk)-1]
		rates = append(rates, float64(len(chunk))/to.Sub(from).Seconds())
		from = to
	}
	b.add(row{what: "5,000 pods created at once on 200 nodes", unit: "run a second", values: rates,
		detail: fmt.Sprintf("created in %.1f s, all run after %.1f s", posted.Seconds(), last.Sub(start).Seconds())})
	return nil
}

// sorted returns when pods came, the earliest first.
func (c *cluster) sorted() (times []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.came {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// measurePace measures the time from POST to Running where pods are created one after the other.
func measurePace(b *bench, c *cluster) error {
	c.forget()
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	posted := make([]time.Time, pacedPods)
	tick := time.NewTicker(time.Second / pace)
	defer tick.Stop()
	for i := range posted {
		posted[i] = <-tick.C
		posted[i] = time.Now()
		if _, err := conn.Do(postPod("paced", i), false); err != nil {
			return err
		}
	}
	if _, err := c.awaitCame(pacedPods); err != nil {
		return err
	}
	var took []float64
	for i, at := range posted {
		took = append(took, measure.Milliseconds(c.came[podName("paced", i)].Sub(at)))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	b.add(row{what: "POST to Running, 50 a second, 99th percentile", unit: "ms", values: []float64{p99}, bound: 5000,
		detail: fmt.Sprintf("median %s ms, last %s ms", measure.Number(measure.Median(took)), measure.Number(took[len(took)-1]))})
	return nil
}

// measureController measures how long a replication controller takes from no pods to many that
// run, and back.
func measureController(b *bench, c *cluster) error {
	labels, none := map[string]string{"app": "web"}, int32(0)
	create := postObject("replicationcontrollers", corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ReplicationControllerSpec{Replicas: &none, Selector: labels, Template: &corev1.PodTemplateSpec{ObjectMeta: podMeta("", "web"), Spec: podSpec}}})
	if _, err := c.SendAll(1, 1, func(int) []byte { return create }); err != nil {
		return err
	}
	var up, down []float64
	for range runs {
		c.forget()
		for _, turn := range []struct {
			replicas int
			await    func(n int) (time.Time, error)
			into     *[]float64
		}{{replicas, c.awaitCame, &up}, {0, c.awaitLeft, &down}} {
			start := time.Now()
			// on a new connection: the server closes one that was idle for as long as a slow turn takes
			if _, err := c.SendAll(1, 1, func(int) []byte { return scale("web", turn.replicas) }); err != nil {
				return err
			}
			last, err := turn.await(replicas)
			if err != nil {
				return err
			}
			*turn.into = append(*turn.into, last.Sub(start).Seconds())
		}
	}
	b.add(row{what: "replication controller from 0 to 2,000 pods that run", unit: "s", values: up})
	b.add(row{what: "replication controller back to 0, until they are gone", unit: "s", values: down, aside: true})
	return nil
}

// scale returns the request that sets how many pods a controller wants.
func scale(name string, replicas int) []byte {
	return measure.Request("PATCH", "/api/v1/namespaces/default/replicationcontrollers/"+name,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), "Content-Type: application/merge-patch+json")
}

// measureProxy measures requests through the proxy, in turn with those through a bare relay to one
// of the same pods.
func measureProxy(b *bench, c *cluster) error {
	const app, endpoints = "behind", 3
	port, err := measure.FreePort()
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	c.forget()
	if _, err := c.SendAll(1, 1, func(int) []byte {
		return postObject("services", corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app},
			Ports: []corev1.ServicePort{{Port: int32(number), TargetPort: intstr.FromInt32(podPort)}}}})
	}); err != nil {
		return err
	}
	if _, err := c.SendAll(1, endpoints, func(i int) []byte { return postPod(app, i) }); err != nil {
		return err
	}
	if _, err := c.awaitCame(endpoints); err != nil {
		return err
	}
	pod, err := c.client.Pods().Get(context.Background(), podName(app, 0))
	if err != nil {
		return err
	}
	relay, err := b.StartSelf("-relay", fmt.Sprintf("%s:%d", pod.Status.PodIP, podPort))
	if err != nil {
		return err
	}
	proxy := measure.Server{Address: net.JoinHostPort(c.nodes[0], port)}
	if err := await("request through the proxy is answered", 1, func() (int, error) {
		if _, err := proxy.Ask("GET", "/", nil); err != nil {
			return 0, nil
		}
		return 1, nil
	}); err != nil {
		return err
	}
	return measureRequests(b, proxy, relay)
}

func measureRequests(b *bench, proxy, relay measure.Server) error {
	const connections, turn = 16, 600 * time.Millisecond
	for _, by := range []struct {
		what string
		rate func(s measure.Server) (float64, error)
	}{
		{"", func(s measure.Server) (float64, error) {
			return s.Throughput(connections, measure.Request("GET", "/", nil), turn)
		}},
		{", each on a connection of its own", func(s measure.Server) (float64, error) {
			return measure.Rate(connections, turn, func() error {
				_, err := s.Ask("GET", "/", nil)
				return err
			})
		}},
	} {
		ours, theirs, err := byTurns(2*runs, proxy, relay, by.rate)
		if err != nil {
			return err
		}
		b.addRates("requests through the proxy"+by.what, "of the bare relay's rate", ours, theirs, 0.8)
	}
	b.setAside()
	return nil
}

// serveRelay is what the proxy is compared with: it passes on what comes to an address, and does
// nothing else.
func serveRelay(address string) error {
	listener, err := measure.Listen()
	if err != nil {
		return err
	}
	for {
		in, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}
