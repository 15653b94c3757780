// Package v1 is a typed client of the second door: today's API /api/v1, with today's
// types. Programs import it as clientv1, beside corev1 and metav1.
package v1

import (
	"context"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Client is a client of an apiserver. It is safe for concurrent use; its fields must not
// change after the first request.
//
// An error is an *errors.StatusError of k8s.io/apimachinery/pkg/api/errors if the server
// refused the request, so that errors.IsNotFound and the like work; else it is an
// error of the transport, or says what is wrong with the request or the answer. A request
// is sent once. It ends with its context; without a deadline there, and but for watches, after
// 30 seconds.
type Client struct {
	Host      string       // the server's address, like http://127.0.0.1:8080
	Namespace string       // of pods and the like; empty: default
	HTTP      *http.Client // nil: http.DefaultClient; a timeout of its own would also end watches
	UserAgent string       // for the server's log and audit; empty: that of Go's client

	maxAnswer int // the size of the largest answer that is read, in bytes; 0: maxAnswerSize
}

// New returns a client of the server at an address like http://127.0.0.1:8080.
func New(host string) *Client { return &Client{Host: host} }

// In returns a client of the same server for another namespace.
func (c *Client) In(namespace string) *Client {
	other := *c
	other.Namespace = namespace
	return &other
}

// Pods returns the pods, which are the first door's tasks.
func (c *Client) Pods() Pods { return Pods{namespaced[corev1.Pod](c, "pods", "Pod")} }

// ReplicationControllers returns the replication controllers.
func (c *Client) ReplicationControllers() ReplicationControllers {
	return ReplicationControllers{namespaced[corev1.ReplicationController](c, "replicationcontrollers", "ReplicationController")}
}

// Services returns the services.
func (c *Client) Services() Resource[*corev1.Service] {
	return namespaced[corev1.Service](c, "services", "Service")
}

// PersistentVolumeClaims returns the claims for volumes.
func (c *Client) PersistentVolumeClaims() Resource[*corev1.PersistentVolumeClaim] {
	return namespaced[corev1.PersistentVolumeClaim](c, "persistentvolumeclaims", "PersistentVolumeClaim")
}

// PersistentVolumes returns the volumes.
func (c *Client) PersistentVolumes() Resource[*corev1.PersistentVolume] {
	return resource[corev1.PersistentVolume](c, nil, "persistentvolumes", "PersistentVolume")
}

// VolumeAttributesClasses returns the classes of attributes of volumes.
func (c *Client) VolumeAttributesClasses() Resource[*storagev1.VolumeAttributesClass] {
	return resource[storagev1.VolumeAttributesClass](c, nil, "volumeattributesclasses", "VolumeAttributesClass").of(storagev1.SchemeGroupVersion)
}

// Endpoints returns the addresses of the services' pods.
func (c *Client) Endpoints() Resource[*corev1.Endpoints] {
	return namespaced[corev1.Endpoints](c, "endpoints", "Endpoints")
}

// EndpointSlices returns the slices that say what endpoints say, for today's proxies.
func (c *Client) EndpointSlices() Resource[*discoveryv1.EndpointSlice] {
	return namespaced[discoveryv1.EndpointSlice](c, "endpointslices", "EndpointSlice").of(discoveryv1.SchemeGroupVersion)
}

// Deployments returns the deployments.
func (c *Client) Deployments() Resource[*appsv1.Deployment] {
	return namespaced[appsv1.Deployment](c, "deployments", "Deployment").of(appsv1.SchemeGroupVersion)
}

// ReplicaSets returns the replica sets, which are the replication controllers of today.
func (c *Client) ReplicaSets() Resource[*appsv1.ReplicaSet] {
	return namespaced[appsv1.ReplicaSet](c, "replicasets", "ReplicaSet").of(appsv1.SchemeGroupVersion)
}

// Jobs returns the jobs.
func (c *Client) Jobs() Resource[*batchv1.Job] {
	return namespaced[batchv1.Job](c, "jobs", "Job").of(batchv1.SchemeGroupVersion)
}

// CronJobs returns the cron jobs.
func (c *Client) CronJobs() Resource[*batchv1.CronJob] {
	return namespaced[batchv1.CronJob](c, "cronjobs", "CronJob").of(batchv1.SchemeGroupVersion)
}

// Leases returns the leases.
func (c *Client) Leases() Resource[*coordinationv1.Lease] {
	return namespaced[coordinationv1.Lease](c, "leases", "Lease").of(coordinationv1.SchemeGroupVersion)
}

// Events returns the events.
func (c *Client) Events() Resource[*corev1.Event] {
	return namespaced[corev1.Event](c, "events", "Event")
}

// Nodes returns the nodes, which are the first door's machines.
func (c *Client) Nodes() Resource[*corev1.Node] {
	return resource[corev1.Node](c, nil, "nodes", "Node")
}

// Namespaces returns the namespaces.
func (c *Client) Namespaces() Namespaces {
	return Namespaces{resource[corev1.Namespace](c, nil, "namespaces", "Namespace")}
}

// ServiceAccounts returns the service accounts.
func (c *Client) ServiceAccounts() Resource[*corev1.ServiceAccount] {
	return namespaced[corev1.ServiceAccount](c, "serviceaccounts", "ServiceAccount")
}

// ConfigMaps returns the config maps.
func (c *Client) ConfigMaps() Resource[*corev1.ConfigMap] {
	return namespaced[corev1.ConfigMap](c, "configmaps", "ConfigMap")
}

// Secrets returns the secrets.
func (c *Client) Secrets() Resource[*corev1.Secret] {
	return namespaced[corev1.Secret](c, "secrets", "Secret")
}

// ResourceQuotas returns the quotas.
func (c *Client) ResourceQuotas() Resource[*corev1.ResourceQuota] {
	return namespaced[corev1.ResourceQuota](c, "resourcequotas", "ResourceQuota")
}

// ClusterRoles returns the cluster roles.
func (c *Client) ClusterRoles() Resource[*rbacv1.ClusterRole] {
	return resource[rbacv1.ClusterRole](c, nil, "clusterroles", "ClusterRole").of(rbacv1.SchemeGroupVersion)
}

// ValidatingAdmissionPolicies returns the policies that check objects.
func (c *Client) ValidatingAdmissionPolicies() Resource[*admissionregistrationv1.ValidatingAdmissionPolicy] {
	return resource[admissionregistrationv1.ValidatingAdmissionPolicy](c, nil, "validatingadmissionpolicies", "ValidatingAdmissionPolicy").of(admissionregistrationv1.SchemeGroupVersion)
}

// OpenAPI decodes the document in OpenAPI 3.0 of a version of a group.
func (c *Client) OpenAPI(ctx context.Context, version schema.GroupVersion, document any) error {
	return c.do(ctx, request{method: http.MethodGet, version: version, under: []string{"openapi", "v3"}}.inJSON(), document)
}

// Namespaces are the namespaces, and what only they can do.
type Namespaces struct{ Resource[*corev1.Namespace] }

// Finalize replaces the finalizers in the spec of a namespace. One that is being deleted is gone with the last of them.
func (n Namespaces) Finalize(ctx context.Context, namespace *corev1.Namespace) (*corev1.Namespace, error) {
	return n.write(ctx, n.to(http.MethodPut, namespace.Name, "finalize"), namespace)
}

// ResourceOf identifies a resource that discovery describes. It must have its group and version.
func ResourceOf(resource metav1.APIResource) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name}
}

// Metadata returns the metadata of the objects of any resource. Without a namespace in the client, or for a resource
// that has none, they are those of all namespaces.
func (c *Client) Metadata(of schema.GroupVersionResource) Resource[*metav1.PartialObjectMetadata] {
	var parent []string
	if c.Namespace != "" {
		parent = []string{"namespaces", c.Namespace}
	}
	r := resource[metav1.PartialObjectMetadata](c, parent, of.Resource, "PartialObjectMetadata")
	r.version, r.form = of.GroupVersion(), ";as=%s;g=meta.k8s.io;v=v1"
	return r
}

// Pods are the pods, and what only they can do.
type Pods struct{ Resource[*corev1.Pod] }

// Bind puts the pod of the binding's name on its target, a node. The error is a conflict if
// the pod has a node, or another uid than the binding says.
func (p Pods) Bind(ctx context.Context, binding *corev1.Binding) error {
	return p.client.do(ctx, p.to(http.MethodPost, binding.Name, "binding").with(binding), &metav1.Status{})
}

// ReplicationControllers are the replication controllers, and what only they can do.
type ReplicationControllers struct {
	Resource[*corev1.ReplicationController]
}

// GetScale returns how many pods a controller wants, and has.
func (r ReplicationControllers) GetScale(ctx context.Context, name string) (*autoscalingv1.Scale, error) {
	return r.scales().send(ctx, r.to(http.MethodGet, name, "scale"))
}

// UpdateScale sets how many pods a controller wants. If the scale has a version, the error
// is a conflict unless that is the controller's.
func (r ReplicationControllers) UpdateScale(ctx context.Context, scale *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	return r.scales().write(ctx, r.to(http.MethodPut, scale.Name, "scale"), scale)
}

// scales returns what is at the controllers' paths as scales.
func (r ReplicationControllers) scales() Resource[*autoscalingv1.Scale] {
	scales := namespaced[autoscalingv1.Scale](r.client, "replicationcontrollers", "Scale")
	scales.kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	return scales
}
