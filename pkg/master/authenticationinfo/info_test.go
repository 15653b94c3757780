package authenticationinfo

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
	"kube2014/pkg/util/certtest"
)

// syncPeriod is that of a server.
const syncPeriod = 10 * time.Second

// informed is a store with the config map, as a test sees and changes it.
type informed struct {
	t          *testing.T
	store      storage.Interface
	configMaps rest.Resource
}

func newInformed(t *testing.T) *informed {
	store := memory.New(1)
	for _, row := range core.Resources(core.Config{Objects: store, Placer: registry.MakePodPlacer(store, nil), Now: time.Now}) {
		if row.Name == "configmaps" {
			return &informed{t, store, row}
		}
	}
	require.FailNow(t, "there are no config maps")
	return nil
}

// server returns what keeps the config map for a server. The files may be "".
func (i *informed) server(clients, proxies string, proxy authenticator.FrontProxy) *Info {
	bundle := func(file string) *certs.CABundle {
		if file == "" {
			return nil
		}
		read, err := certs.ReadCABundle("", file)
		require.NoError(i.t, err)
		return read
	}
	return &Info{i.configMaps.Storage.(rest.Updater), bundle(clients), bundle(proxies), proxy}
}

// data returns what the config map says, nil if there is none.
func (i *informed) data() map[string]string {
	answer, err := i.configMaps.Storage.(rest.Getter).Get(i.t.Context(), key)
	if err != nil {
		return nil
	}
	configMap, err := genericregistry.ObjectIn[*corev1.ConfigMap](answer, nil)
	require.NoError(i.t, err)
	return configMap.Data
}

func (i *informed) write(data map[string]string) {
	_, _, err := i.configMaps.Storage.(rest.Updater).Update(i.t.Context(), key, func(rest.Object) (rest.Object, error) {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: data}, nil
	}, rest.WriteOptions{ForceCreate: true})
	require.NoError(i.t, err)
}

func (i *informed) version() uint64 {
	version, err := i.store.Version()
	require.NoError(i.t, err)
	return version
}

// authorityFile returns an authority, as a file that also has its key, and as text.
func authorityFile(t *testing.T, name string) (file, text string) {
	authority := certtest.Authority(t, name)
	file, _ = authority.Files(t)
	certtest.Replace(t, file, slices.Concat(authority.KeyPEM, []byte("a comment\n"), authority.CertPEM))
	return file, string(authority.CertPEM)
}

var aProxy = authenticator.FrontProxy{UsernameHeaders: []string{"X-Remote-User"}, GroupHeaders: []string{"X-Remote-Group"}, AllowedNames: []string{"proxy"}}

func TestServersBehindTheAggregatorAreToldWhomThisOneTrusts(t *testing.T) {
	t.Parallel()
	i := newInformed(t)
	clientsFile, clients := authorityFile(t, "clients")
	proxiesFile, proxies := authorityFile(t, "proxies")
	empty := i.version()
	expired, _ := certtest.Authority(t, "x").Client(t, "expired", certtest.Expired).Files(t)
	require.NoError(t, i.server(expired, "", authenticator.FrontProxy{}).Sync())
	assert.Equal(t, empty, i.version(), "there is nothing to say")
	require.NoError(t, i.server(clientsFile, "", authenticator.FrontProxy{}).Sync())
	assert.Equal(t, map[string]string{"client-ca-file": clients}, i.data())
	require.NoError(t, i.server("", proxiesFile, aProxy).Sync())
	told := map[string]string{
		"client-ca-file": clients, "requestheader-client-ca-file": proxies, "requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": "[]", "requestheader-allowed-names": `["proxy"]`,
	}
	assert.Equal(t, told, i.data(), "what another server has said stays")

	before := i.version()
	for range 2 {
		require.NoError(t, i.server(clientsFile, "", authenticator.FrontProxy{}).Sync())
		require.NoError(t, i.server("", proxiesFile, aProxy).Sync())
	}
	assert.Equal(t, before, i.version(), "what is said already is not written again")

	other := authenticator.FrontProxy{UsernameHeaders: []string{"X-User", "X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, ExtraPrefixes: []string{"X-Remote-Extra-"}, AllowedNames: []string{"other"}}
	moreFile, more := authorityFile(t, "more proxies")
	require.NoError(t, i.server("", moreFile, other).Sync())
	told["requestheader-client-ca-file"], told["requestheader-username-headers"], told["requestheader-uid-headers"] = proxies+more, `["X-Remote-User","X-User"]`, `["X-Remote-Uid"]`
	told["requestheader-extra-headers-prefix"], told["requestheader-allowed-names"] = `["X-Remote-Extra-"]`, `["proxy","other"]`
	assert.Equal(t, told, i.data(), "two servers trust more than one")
}

func TestTheConfigMapIsRepaired(t *testing.T) {
	t.Parallel()
	i := newInformed(t)
	clientsFile, clients := authorityFile(t, "clients")
	proxiesFile, proxies := authorityFile(t, "proxies")
	_, others := authorityFile(t, "others")
	a := i.server(clientsFile, proxiesFile, aProxy)
	require.NoError(t, a.Sync())
	told := i.data()
	_, err := i.configMaps.Storage.(rest.Deleter).Delete(t.Context(), key, rest.DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, a.Sync())
	assert.Equal(t, told, i.data(), "one that was deleted is there again")

	i.write(map[string]string{"client-ca-file": others, "requestheader-group-headers": `["X-Group"]`, "a": "b"})
	require.NoError(t, a.Sync())
	told["client-ca-file"], told["requestheader-group-headers"] = others+clients, `["X-Group","X-Remote-Group"]`
	assert.Equal(t, told, i.data(), "what was taken away is there again, unknown keys are gone")

	expired := certtest.Authority(t, "x").Client(t, "expired", certtest.Expired)
	i.write(map[string]string{"client-ca-file": string(expired.CertPEM) + others + others, "requestheader-client-ca-file": string(expired.CertPEM)})
	require.NoError(t, a.Sync())
	assert.Equal(t, others+clients, i.data()["client-ca-file"])
	assert.Equal(t, proxies, i.data()["requestheader-client-ca-file"])

	i.write(map[string]string{"client-ca-file": others, "requestheader-allowed-names": `["` + strings.Repeat("x", corev1.MaxSecretSize-len(others)-4) + `"]`})
	require.NoError(t, a.Sync())
	assert.Equal(t, clients, i.data()["client-ca-file"], "one that grew too large begins anew")
	assert.Equal(t, `["proxy"]`, i.data()["requestheader-allowed-names"])
}

func TestAConfigMapThatCannotBeReadStaysAsItIs(t *testing.T) {
	t.Parallel()
	i := newInformed(t)
	clientsFile, _ := authorityFile(t, "clients")
	a := i.server(clientsFile, "", authenticator.FrontProxy{})
	for problem, data := range map[string]map[string]string{
		"client-ca-file has no certificate (BEGIN CERTIFICATE)":               {"client-ca-file": "secret"},
		"requestheader-client-ca-file: only 0 of 1 PEM blocks can be read":    {"requestheader-client-ca-file": "-----BEGIN CERTIFICATE-----\n"},
		"requestheader-allowed-names: is not a list of names in JSON":         {"requestheader-allowed-names": "secret"},
		"requestheader-extra-headers-prefix: is not a list of names in JSON":  {"requestheader-extra-headers-prefix": `"X-"`},
		"requestheader-client-ca-file has no certificate (BEGIN CERTIFICATE)": {"requestheader-client-ca-file": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST"}))},
	} {
		i.write(data)
		assert.EqualError(t, a.Sync(), "config map kube-system/extension-apiserver-authentication: "+problem)
		assert.Equal(t, data, i.data())
	}
}

func TestAuthoritiesThatChangeAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newInformed(t)
		file, first := authorityFile(t, "first")
		_, second := authorityFile(t, "second")
		a := i.server(file, "", authenticator.FrontProxy{})
		require.NoError(t, a.Sync())
		require.NoError(t, os.WriteFile(file, []byte(second), 0o600))
		time.Sleep(syncPeriod) // the bubble's clock: it takes no time
		require.NoError(t, a.Sync())
		assert.Equal(t, first+second, i.data()["client-ca-file"], "a certificate of the first one is still good, where this server is not asked")
	})
}

func TestAnAuthorityThatExpiresIsNoLongerTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newInformed(t)
		soon := certtest.Authority(t, "x").Client(t, "ends in an hour", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Hour) })
		file, _ := soon.Files(t)
		a := i.server(file, "", authenticator.FrontProxy{})
		require.NoError(t, a.Sync())
		time.Sleep(time.Hour + expirySlack - time.Second) // the bubble's clock: it takes no time
		require.NoError(t, a.Sync())
		assert.Equal(t, map[string]string{"client-ca-file": string(soon.CertPEM)}, i.data(), "clocks differ")
		time.Sleep(time.Second)
		require.NoError(t, a.Sync())
		assert.Empty(t, i.data())
	})
}

func TestServersThatWriteAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	i := newInformed(t)
	done, all := make(chan error), []string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		file, text := authorityFile(t, name)
		all = append(all, text)
		server := i.server(file, "", authenticator.FrontProxy{})
		go func() { done <- server.Sync() }()
	}
	for range all {
		require.NoError(t, <-done)
	}
	for _, text := range all {
		assert.Equal(t, 1, strings.Count(i.data()["client-ca-file"], text))
	}
}
