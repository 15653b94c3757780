package core

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
	"kube2014/pkg/util/certtest"
)

// create stores an account.
func create(t *testing.T, objects storage.Interface, namespace, name string) {
	_, err := storage.CommitOne(objects, storage.Create(&api.Any{Kind: accountsKind, ID: name, ObjectMeta: api.ObjectMeta{Namespace: namespace}}))
	require.NoError(t, err)
}

func TestAnAccountIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(1)
		found := make(chan string, 1)
		go func() {
			account, err := NewAccounts(t.Context(), store).Await(t.Context(), "dev", "default")
			assert.NoError(t, err)
			found <- account.Namespace + "/" + account.Name
		}()
		for _, other := range []string{"dev/robot", "other/default"} {
			namespace, name := filepath.Split(other)
			create(t, store, namespace[:len(namespace)-1], name)
			synctest.Wait()
			assert.Empty(t, found, other)
		}
		create(t, store, "dev", "default")
		assert.Equal(t, "dev/default", <-found)
		account, err := NewAccounts(t.Context(), store).Await(t.Context(), "dev", "default")
		require.NoError(t, err)
		assert.Equal(t, "default", account.Name)
	})
}

func TestAnAccountThatDoesNotComeIsNotFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := NewAccounts(t.Context(), memory.New(1)).Await(ctx, "dev", "default")
		assert.True(t, apierrors.IsNotFound(err), err)
		assert.EqualError(t, err, `serviceaccounts "default" not found`)
	})
}

func TestNobodyWaitsForAnAccountWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serving, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, end)
		start := time.Now()
		_, err := NewAccounts(serving, memory.New(1)).Await(t.Context(), "dev", "default")
		assert.True(t, apierrors.IsServiceUnavailable(err), err)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

// forgetful is a store whose first watcher has missed a change: the account is there meanwhile.
type forgetful struct {
	storage.Interface
	missed func()
}

func (f *forgetful) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	watcher, err := f.Interface.Watch(selection, after)
	if missed := f.missed; missed != nil {
		f.missed = nil
		return expiring{watcher, missed}, err
	}
	return watcher, err
}

type expiring struct {
	storage.Watcher
	missed func()
}

func (e expiring) Next(context.Context) ([]storage.Event, error) {
	e.missed()
	return nil, errors.New("too old")
}

func TestAnAccountIsFoundThoughItsChangeWasMissed(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	account, err := NewAccounts(t.Context(), &forgetful{store, func() { create(t, store, "dev", "default") }}).Await(t.Context(), "dev", "default")
	require.NoError(t, err)
	assert.Equal(t, "default", account.Name)
}

// meanwhile is an admission that does something before the answer.
type meanwhile func()

func (meanwhile) Mutate(object, _ rest.Object) (rest.Object, error) { return object, nil }

func (m meanwhile) Validate(_, _ rest.Object) error {
	m()
	return nil
}

// As on today's server, the token is issued; but it is of nobody.
func TestATokenOfAnAccountThatIsDeletedMeanwhileIsOfNoUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	certtest.Replace(t, file, certtest.Authority(t, "accounts").KeyPEM)
	issuer, err := serviceaccount.NewIssuer(file, "https://x")
	require.NoError(t, err)
	catalog := &rest.Catalog{}
	catalog.Install(Resources(Config{Objects: memory.New(1), Now: time.Now, Issuer: issuer})...)
	storageOf := func(resource string) any { return catalog.Snapshot().Find(coreGroup, resource).Storage }
	accounts, key := storageOf("serviceaccounts"), rest.Key{Namespace: "default", Name: "robot"}
	authenticator, err := serviceaccount.New([]string{file}, "https://x")
	require.NoError(t, err)
	authenticator.Lookup = func(ctx context.Context, resource, namespace, name string) (metav1.Object, error) {
		return genericregistry.ObjectIn[*corev1.ServiceAccount](storageOf(resource).(rest.Getter).Get(ctx, rest.Key{Namespace: namespace, Name: name}))
	}
	makeAccount := func() {
		_, err := accounts.(rest.Creater).Create(t.Context(), rest.Key{Namespace: "default"}, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, rest.WriteOptions{})
		require.NoError(t, err)
	}
	ask := func(between meanwhile) (string, error) {
		request, err := genericregistry.ObjectIn[*authenticationv1.TokenRequest](storageOf("serviceaccounts/token").(rest.Creater).Create(t.Context(), key, &authenticationv1.TokenRequest{}, rest.WriteOptions{Admission: between}))
		if err != nil {
			return "", err
		}
		return request.Status.Token, nil
	}
	remove := func() {
		_, err := accounts.(rest.Deleter).Delete(t.Context(), key, rest.DeleteOptions{})
		require.NoError(t, err)
	}
	makeAccount()
	token, err := ask(func() {})
	require.NoError(t, err)
	_, ok, err := authenticator.AuthenticateToken(t.Context(), token)
	assert.True(t, ok, err)

	for name, between := range map[string]func(){"deleted": remove, "deleted and created again": func() { remove(); makeAccount() }} {
		token, err = ask(between)
		require.NoError(t, err, name)
		_, ok, err = authenticator.AuthenticateToken(t.Context(), token)
		assert.False(t, ok, name)
		assert.EqualError(t, err, "the service account of the token does not exist", name)
		if name == "deleted" {
			_, err = ask(func() {})
			assert.EqualError(t, err, `serviceaccounts "robot" not found`)
			makeAccount()
		}
	}
}
