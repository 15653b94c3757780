package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/bench/measure"
)

const (
	deployments = 10
	forwarded   = 512 << 20 // bytes through a port-forward
)

// measureWorkloads measures deployments, and a port-forward of kubectl's, which lies beside the program.
func measureWorkloads(b *bench) error {
	c, err := b.startCluster(hollowNodes)
	if err != nil {
		return err
	}
	for _, measure := range []func(*bench, *cluster) error{measureDeployments, measureForward} {
		if err := measure(b, c); err != nil {
			return err
		}
	}
	return nil
}

func measureDeployments(b *bench, c *cluster) error {
	const each = hollowPods / deployments
	ctx, start := context.Background(), time.Now()
	for i := range deployments {
		name, replicas := fmt.Sprint("web-", i), int32(each)
		if _, err := c.client.Deployments().Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
				Template: corev1.PodTemplateSpec{ObjectMeta: podMeta("", name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}}}}}); err != nil {
			return err
		}
	}
	if err := await("pods are ready", hollowPods, func() (int, error) { return c.readyPods(ctx) }); err != nil {
		return err
	}
	b.add(row{what: "5,000 pods of ten deployments on 200 nodes, until all are ready", unit: "s", values: []float64{time.Since(start).Seconds()}, bound: 12})
	var took []float64
	for revision := range runs {
		start := time.Now()
		changed, err := c.client.Deployments().Patch(ctx, "web-0", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{"revision":"r%d"}}}}}`, revision))
		if err != nil {
			return err
		}
		if err := await("pods are updated", each, func() (int, error) {
			d, err := c.client.Deployments().Get(ctx, "web-0")
			if err != nil || d.Status.ObservedGeneration < changed.Generation || d.Status.Replicas > each {
				return 0, err
			}
			return int(min(d.Status.UpdatedReplicas, d.Status.ReadyReplicas)), nil
		}); err != nil {
			return err
		}
		took = append(took, time.Since(start).Seconds())
	}
	b.add(row{what: "rolling update of 500 pods", unit: "s", values: took, bound: 10})
	return nil
}

// readyPods returns how many pods of the deployments are ready.
func (c *cluster) readyPods(ctx context.Context) (ready int, err error) {
	list, err := c.client.Deployments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, d := range list.Items {
		ready += int(d.Status.ReadyReplicas)
	}
	return ready, nil
}

// measureForward measures how fast a client reads what a process at a pod's address sends, through kubectl, server and kubelet.
func measureForward(b *bench, c *cluster) error {
	pods, err := c.client.Pods().List(context.Background(), metav1.ListOptions{LabelSelector: "app=web-1", Limit: 1}) // those of web-0 may be ending
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(pods.Items[0].Status.PodIP, "0"))
	if err != nil {
		return err
	}
	b.AtEnd(func() { listener.Close() })
	go sendZeros(listener)
	port, err := measure.FreePort()
	if err != nil {
		return err
	}
	kubectl := exec.Command(filepath.Join(filepath.Dir(b.program), "kubectl"), "--kubeconfig=/dev/null", "--server=http://"+c.Address,
		"port-forward", "pod/"+pods.Items[0].Name, fmt.Sprint(port, ":", listener.Addr().(*net.TCPAddr).Port))
	if err := kubectl.Start(); err != nil {
		return err
	}
	b.AtEnd(func() {
		_ = kubectl.Process.Kill()
		_ = kubectl.Wait()
	})
	var rates []float64
	for range runs {
		var conn net.Conn
		if err := await("ports are forwarded", 1, func() (int, error) {
			if conn, err = net.Dial("tcp", "127.0.0.1:"+port); err != nil {
				return 0, nil // kubectl has not begun
			}
			return 1, nil
		}); err != nil {
			return err
		}
		start := time.Now()
		n, err := io.Copy(io.Discard, conn)
		conn.Close()
		if err != nil || n < forwarded {
			return errors.Join(err, fmt.Errorf("%d bytes came through the port-forward", n))
		}
		rates = append(rates, float64(n)/1e6/time.Since(start).Seconds())
	}
	b.add(row{what: "kubectl port-forward, one connection", unit: "MB/s", values: rates, bound: 100, atLeast: true})
	return nil
}

// sendZeros sends bytes to each client.
func sendZeros(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		chunk := make([]byte, 1<<20)
		for sent := 0; sent < forwarded && err == nil; sent += len(chunk) {
			_, err = conn.Write(chunk)
		}
		conn.Close()
	}
}
