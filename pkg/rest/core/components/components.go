// Package components serves the component statuses: whether the programs of a cluster are healthy.
package components

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
)

// Component is a program that a cluster consists of. Check returns what it tells about its health, or an error if it does
// not answer that it is healthy. It should return when the context ends, and may be called
// concurrently.
type Component struct {
	Name  string
	Check func(ctx context.Context) (message string, err error)
}

// componentTimeout bounds how long a client waits for the programs.
const componentTimeout = 2 * time.Second

// Rows returns the row of component statuses.
func Rows(all []Component) []rest.Resource {
	row := rest.ClusterScoped(corev1.SchemeGroupVersion, "ComponentStatus", "componentstatuses", printers.Components, "cs")
	row.StoredKind, row.Warning = "", "v1 ComponentStatus is deprecated in v1.19+"
	return []rest.Resource{row.With(statuses(all))}
}

// statuses is the storage of component statuses: programs are asked when a client wants to know.
type statuses []Component

// Get implements rest.Getter.
func (c statuses) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	for _, one := range c {
		if one.Name == key.Name {
			return rest.MakeAnswer(one.status(ctx)), nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), key.Name) // as today's server words it
}

// List implements rest.Lister. It asks all programs at once.
func (c statuses) List(ctx context.Context, _ string, options rest.ListOptions) (*rest.List, error) {
	if err := options.OnlyFields(fields.Set{"metadata.name": ""}); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	statuses := make([]runtime.Object, 0, len(c))
	for _, one := range c {
		if !options.Labels.Matches(labels.Set{}) || !options.Fields.Matches(fields.Set{"metadata.name": one.Name}) {
			continue
		}
		i := len(statuses)
		statuses = append(statuses, nil)
		group.Go(func() { statuses[i] = one.status(ctx) })
	}
	group.Wait()
	return rest.MakeList(corev1.SchemeGroupVersion.WithKind("ComponentStatus"), 0, statuses), nil
}

func (c Component) status(ctx context.Context) *corev1.ComponentStatus {
	ctx, cancel := context.WithTimeout(ctx, componentTimeout)
	defer cancel()
	message, err := c.Check(ctx)
	condition := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: message}
	if err != nil {
		condition.Status, condition.Message = corev1.ConditionFalse, err.Error()
	}
	return &corev1.ComponentStatus{TypeMeta: metav1.TypeMeta{Kind: "ComponentStatus", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Conditions: []corev1.ComponentCondition{condition}}
}

// mostHealth bounds what is read of an answer about health.
const mostHealth = 10 << 10

// New returns a program that tells its health at a URL. Only whether it answers is of interest, so its
// certificate is not verified, as by today's server. Redirects are not followed.
func New(name, url string) Component {
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return Component{name, func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		answer, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, mostHealth))
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("HTTP probe failed with statuscode: %d", answer.StatusCode)
		}
		return string(text), err
	}}
}
