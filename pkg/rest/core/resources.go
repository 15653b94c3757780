// Package core is the table of the second door's resources: each kind with its strategy and
// its storage.
package core

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/rest/policy"
	"kube2014/pkg/storage"
)

// Placer stores a new pod, on a machine or without one.
type Placer interface {
	Create(task *api.Task) (*storage.Object, error)
}

var (
	coreGroup = corev1.SchemeGroupVersion

	inAll = []string{"all"} // what kubectl get all shows
)

// Config has the dependencies of the resources.
type Config struct {
	Objects  storage.Interface
	Placer   Placer
	Now      func() time.Time
	EventTTL time.Duration     // the time from an event's last change to its deletion; 0 is for ever
	Kubelets Kubelets          // nil for none
	Proxied  http.RoundTripper // of requests that are sent on to pods, services and nodes; it speaks HTTP/1.1 only
	Budgets  *policy.Budgets   // of the disruptions of pods; nil for none
	// Components are the programs of whose health the server tells.
	Components []Component
	// Issuer signs the tokens of service accounts; nil if there are none.
	Issuer *serviceaccount.Issuer
	// IgnoreDependents is that of generic.Base.
	IgnoreDependents bool
}

// Resources returns the table. The rows of each kind are beside its strategy.
func Resources(c Config) []rest.Resource {
	b := generic.Base{Objects: c.Objects, Now: c.Now, IgnoreDependents: c.IgnoreDependents}
	nodeRows, nodes := nodeRows(b, c)
	podRows, secretRows, endpointsRows := podRows(b, nodes, c), secrets.Rows(b), endpointsRows(b)
	accountRows := serviceAccountRows(b, c.Issuer, getterIn(podRows, "pods"), getterIn(secretRows, "secrets"), nodes)
	return slices.Concat(componentRows(c.Components), configMaps.Rows(b), endpointsRows, eventRows(b, c.EventTTL), quotaRows(b), namespaceRows(b), nodeRows,
		podRows, podTemplates.Rows(b), controllers.Rows(b), secretRows, accountRows, serviceRows(b, c, getterIn(podRows, "pods"), getterIn(endpointsRows, "endpoints")))
}

// getterIn returns the storage of a resource.
func getterIn(rows []rest.Resource, name string) rest.Getter {
	i := slices.IndexFunc(rows, func(row rest.Resource) bool { return row.Name == name })
	return rows[i].Storage.(rest.Getter)
}

// coreRow returns the row of a kind of the group without a name.
func coreRow(kind, name string, stored api.Kind, printer printers.Printer, shortNames ...string) rest.Resource {
	row := rest.InNamespaces(coreGroup, kind, name, printer, shortNames...)
	row.StoredKind = stored
	return row
}

// countGeneration increments the generation of an object if its spec has changed.
func countGeneration(object rest.Object, spec, old interface{}) {
	if !equality.Semantic.DeepEqual(spec, old) {
		object.SetGeneration(object.GetGeneration() + 1)
	}
}

// Component is a program that a cluster consists of. Check returns what it tells about its health, or an error if it does
// not answer that it is healthy. It should return when the context ends, and may be called
// concurrently.
type Component struct {
	Name  string
	Check func(ctx context.Context) (message string, err error)
}

// componentTimeout bounds how long a client waits for the programs.
const componentTimeout = 2 * time.Second

func componentRows(all []Component) []rest.Resource {
	row := coreRow("ComponentStatus", "componentstatuses", "", printers.Components, "cs")
	row.Namespaced, row.Warning = false, "v1 ComponentStatus is deprecated in v1.19+"
	return []rest.Resource{row.With(components(all))}
}

// components is the storage of component statuses: programs are asked when a client wants to know.
type components []Component

// Get implements rest.Getter.
func (c components) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	for _, one := range c {
		if one.Name == key.Name {
			return rest.MakeAnswer(one.status(ctx)), nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), key.Name) // as today's server words it
}

// List implements rest.Lister. It asks all programs at once.
func (c components) List(ctx context.Context, _ string, options rest.ListOptions) (*rest.List, error) {
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
	return rest.MakeList(coreGroup.WithKind("ComponentStatus"), 0, statuses), nil
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

// NewComponent returns a program that tells its health at a URL. Only whether it answers is of interest, so its
// certificate is not verified, as by today's server. Redirects are not followed.
func NewComponent(name, url string) Component {
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
