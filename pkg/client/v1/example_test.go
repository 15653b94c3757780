package v1_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// A test of the whole project runs it on a server.
func Example() {
	c, ctx := clientv1.New("http://127.0.0.1:8080"), context.Background()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"tier": "front"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "nginx", Image: "nginx"}}
	created, err := c.Pods().Create(ctx, pod)
	fmt.Println("created:", err)
	for pod, err := range c.Pods().All(ctx, metav1.ListOptions{LabelSelector: "tier in (front, back)"}) {
		fmt.Println(pod.Name, "is on", pod.Spec.NodeName, err)
	}
	fmt.Println("deleted:", c.Pods().Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	fmt.Println("not there:", apierrors.IsNotFound(c.Pods().Delete(ctx, "web", metav1.DeleteOptions{})))
	for event, err := range c.Pods().Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion}) {
		fmt.Println(event.Type, event.Object.Name, err)
		break // else it would wait for the next one
	}
	// Prints:
	// created: <nil>
	// web is on 127.0.0.1 <nil>
	// deleted: <nil>
	// not there: true
	// DELETED web <nil>
}
