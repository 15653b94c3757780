package serviceaccount

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// ServiceAccountsController keeps the service account default in each namespace. Its work can be repeated, also by
// several controllers at once.
type ServiceAccountsController struct {
	*inEachNamespace[*metav1.PartialObjectMetadata]
}

// NewServiceAccountsController returns a controller that has its handler at the informers. They must be run by the
// caller.
func NewServiceAccountsController(config controller.Config) ServiceAccountsController {
	c := newInEachNamespace(config, "service account controller", "default", config.Client.Metadata(corev1.SchemeGroupVersion.WithResource("serviceaccounts")))
	c.ensure = func(ctx context.Context, namespace string, _ *metav1.PartialObjectMetadata, exists bool) error {
		if exists {
			return nil
		}
		_, err := config.Client.In(namespace).ServiceAccounts().Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
		return err
	}
	return ServiceAccountsController{c}
}

// RootCAName is the name of the config maps with the certificate.
const RootCAName = "kube-root-ca.crt"

const (
	rootCAKey         = "ca.crt"
	rootCAAnnotation  = "kubernetes.io/description"
	rootCADescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// RootCAPublisher keeps the config map with a certificate in each namespace. Its work can be repeated, also by several
// controllers at once.
type RootCAPublisher struct {
	*inEachNamespace[*corev1.ConfigMap]
}

// NewRootCAPublisher returns a publisher of a certificate in PEM, which may be "", that has its handler at the informers.
// They must be run by the caller.
func NewRootCAPublisher(config controller.Config, certificate string) RootCAPublisher {
	own, annotations := newCertificate(certificate), map[string]string{rootCAAnnotation: rootCADescription}
	c := newInEachNamespace(config, "root CA publisher", RootCAName, config.Client.ConfigMaps().Everywhere())
	controller.Handle(c.Loop, config.Informers.Namespaces(), cache.ResourceEventHandler[*corev1.Namespace]{
		OnDelete: func(namespace *corev1.Namespace) { own.forget(namespace.Name) },
	})
	c.ensure = func(ctx context.Context, namespace string, object *corev1.ConfigMap, exists bool) (err error) {
		configs := config.Client.In(namespace).ConfigMaps()
		data := map[string]string{rootCAKey: certificate}
		if !exists {
			_, err = configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.name, Annotations: annotations}, Data: data})
			return err
		}
		has := object.Data[rootCAKey]
		own.note(namespace, has)
		if !own.replaces(namespace, has) {
			data[rootCAKey] = has
		}
		if maps.Equal(object.Data, data) && len(object.BinaryData) == 0 && object.Annotations[rootCAAnnotation] != "" {
			return nil
		}
		object = object.DeepCopy()
		object.Data, object.BinaryData = data, nil
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, rootCAAnnotation, rootCADescription)
		if _, err = configs.Update(ctx, object); err == nil {
			own.note(namespace, data[rootCAKey])
		}
		return err
	}
	return RootCAPublisher{c}
}
