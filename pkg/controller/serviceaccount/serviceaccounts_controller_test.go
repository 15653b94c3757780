package serviceaccount

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
	"kube2014/pkg/util/certtest"
)

// bench is a server with all controllers, twice, in a synctest bubble.
type bench struct {
	*servertest.Server
	t      *testing.T
	client *clientv1.Client
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &bench{server, t, server.Client(t, "test")}
		b.create("before")
		for range 2 {
			b.run("the certificate")
		}
		b.settle()
		test(t, b)
	})
}

// run starts the controllers of a server with a certificate.
func (b *bench) run(certificate string) {
	client := b.Client(b.t, "controller")
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	config := controller.Config{Client: client, Informers: informers.New(client, 0)}
	accounts, publisher := NewServiceAccountsController(config), NewRootCAPublisher(config, certificate)
	tokens := NewTokensController(config, sign, certificate)
	config.Informers.Run(ctx)
	go accounts.Run(ctx, 2)
	go publisher.Run(ctx, 2)
	go tokens.Run(ctx, 2)
}

func (b *bench) create(name string) {
	_, err := b.client.Namespaces().Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	require.NoError(b.t, err)
}

func (b *bench) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func (b *bench) hasBoth(namespace string) bool {
	_, err := b.client.In(namespace).ServiceAccounts().Get(b.t.Context(), "default")
	config, configErr := b.client.In(namespace).ConfigMaps().Get(b.t.Context(), RootCAName)
	if configErr == nil {
		assert.Equal(b.t, map[string]string{"ca.crt": "the certificate"}, config.Data)
		assert.Contains(b.t, config.Annotations["kubernetes.io/description"], "CA bundle")
	}
	assert.Equal(b.t, err == nil, configErr == nil)
	return err == nil && configErr == nil
}

func TestEachNamespaceHasAnAccountAndTheCertificate(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		assert.True(t, b.hasBoth("before"))
		b.create("after")
		b.settle()
		assert.True(t, b.hasBoth("after"))
	})
}

func TestWhatIsDeletedOrChangedComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		in := b.client.In("before")
		require.NoError(t, in.ServiceAccounts().Delete(t.Context(), "default", metav1.DeleteOptions{}))
		_, err := in.ConfigMaps().Patch(t.Context(), RootCAName, types.MergePatchType, []byte(`{"metadata":{"annotations":null},"data":{"ca.crt":"other","more":"x"},"binaryData":{"y":"eA=="}}`))
		require.NoError(t, err)
		b.settle()
		assert.True(t, b.hasBoth("before"))
		require.NoError(t, in.ConfigMaps().Delete(t.Context(), RootCAName, metav1.DeleteOptions{}))
		b.settle()
		assert.True(t, b.hasBoth("before"))
		_, err = in.ConfigMaps().Patch(t.Context(), RootCAName, types.MergePatchType, []byte(`{"metadata":{"annotations":{"kubernetes.io/description":"mine"}}}`))
		require.NoError(t, err)
		b.settle()
		config, err := in.ConfigMaps().Get(t.Context(), RootCAName)
		require.NoError(t, err)
		assert.Equal(t, "mine", config.Annotations["kubernetes.io/description"])
	})
}

// Servers without a certificate, and with certificates of their own, may be around one store.
func TestServersDoNotReplaceTheCertificatesOfEachOtherForEver(t *testing.T) {
	t.Parallel()
	first, second := string(certtest.Authority(t, "first").CertPEM), string(certtest.Authority(t, "second").CertPEM)
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &bench{server, t, server.Client(t, "test")}
		b.create("before")
		b.createAccount("robot")
		b.createSecret("key", "robot", nil)
		has := func(certificate, namespace string) {
			t.Helper()
			b.settle()
			config, err := b.client.In(namespace).ConfigMaps().Get(t.Context(), RootCAName)
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"ca.crt": certificate}, config.Data)
			b.settle()
			later, err := b.client.In(namespace).ConfigMaps().Get(t.Context(), RootCAName)
			require.NoError(t, err)
			assert.Equal(t, config.ResourceVersion, later.ResourceVersion, "it is left alone")
		}
		b.run("")
		has("", "before")
		b.run(first)
		has(first, "before")
		assert.Equal(t, first, string(b.secret("key").Data["ca.crt"]))
		b.run(second)
		has(second, "before")
		secret := b.secret("key")
		assert.Equal(t, second, string(secret.Data["ca.crt"]))
		b.settle()
		assert.Equal(t, secret.ResourceVersion, b.secret("key").ResourceVersion)
		_, err := b.client.In("before").ConfigMaps().Patch(t.Context(), RootCAName, types.MergePatchType, []byte(`{"data":{"ca.crt":"","more":"x"}}`))
		require.NoError(t, err)
		b.settle()
		config, err := b.client.In("before").ConfigMaps().Get(t.Context(), RootCAName)
		require.NoError(t, err)
		assert.Contains(t, []string{first, second}, config.Data["ca.crt"], "of either")
		has(config.Data["ca.crt"], "before")
	})
}

func TestANamespaceThatEndsGetsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.client.Namespaces().Delete(t.Context(), "before", metav1.DeleteOptions{}))
		require.NoError(t, b.client.In("before").ServiceAccounts().Delete(t.Context(), "default", metav1.DeleteOptions{}))
		b.settle()
		_, err := b.client.In("before").ServiceAccounts().Get(t.Context(), "default")
		assert.True(t, apierrors.IsNotFound(err), err)
	})
}
