package master

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/rest"
	"kube2014/pkg/server"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

var authenticationInfoKey = rest.Key{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// expirySlack is how long an expired certificate stays published, as clocks differ.
const expirySlack = 5 * time.Minute

// errNothingToSay ends an update that would create an empty config map.
var errNothingToSay = errors.New("there is nothing to say")

// authenticationInfo keeps the config map that tells servers behind the aggregator whom the apiservers trust: who signs the
// certificates of clients, and the front proxy with its headers. It adds to what other apiservers have written.
type authenticationInfo struct {
	configMaps       rest.Updater
	clients, proxies *certs.CABundle // nil for none
	proxy            authenticator.FrontProxy
	now              func() time.Time
}

// addAuthenticationInfo lets a link keep the config map, if there is something to say.
func (m *Master) addAuthenticationInfo(link *server.Link) {
	o := &m.o.Authentication
	if o.ClientCA == nil && o.ProxyCA == nil {
		return
	}
	info := &authenticationInfo{m.built.Snapshot().Find(corev1.SchemeGroupVersion, "configmaps").Storage.(rest.Updater), o.ClientCA, o.ProxyCA, o.FrontProxy, time.Now}
	sync := m.tracer.Sync("AuthenticationInfo.Sync", info.sync)
	link.AddPostStartHook("start-cluster-authentication-info-controller", func(ctx context.Context) error {
		return untilDone(ctx, func() error {
			err := sync()
			if apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) {
				return err
			}
			logError(err) // somebody must repair the config map, so the server is ready without it
			return nil
		})
	})
	link.AddLoop(func(ctx context.Context) {
		for util.Sleep(ctx, SyncPeriod) {
			_ = untilDone(ctx, sync)
		}
	})
}

// sync creates or completes the config map. It writes nothing if that says all.
func (a *authenticationInfo) sync() error {
	options := rest.AsServer()
	options.ForceCreate = true
	_, _, err := a.configMaps.Update(context.Background(), authenticationInfoKey, a.complete, options)
	if errors.Is(err, errNothingToSay) {
		return nil
	}
	return err
}

// complete returns the config map with what this server says, nil for a missing one.
func (a *authenticationInfo) complete(current rest.Object) (rest.Object, error) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: authenticationInfoKey.Namespace, Name: authenticationInfoKey.Name}}
	if current != nil {
		configMap = current.(*corev1.ConfigMap)
	}
	data, err := a.united(configMap.Data)
	size := 0
	for _, value := range data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize { // the others add theirs again
		data, err = a.united(nil)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("config map %s/%s: %w", authenticationInfoKey.Namespace, authenticationInfoKey.Name, err)
	case current == nil && len(data) == 0:
		return nil, errNothingToSay
	}
	configMap.Data = data
	return configMap, nil
}

// united returns what is stored and what this server says. Other keys are dropped.
func (a *authenticationInfo) united(stored map[string]string) (map[string]string, error) {
	const clientsKey, proxiesKey, uidsKey = "client-ca-file", "requestheader-client-ca-file", "requestheader-uid-headers"
	clients, err := a.unitedCAs(clientsKey, stored[clientsKey], a.clients)
	if err != nil {
		return nil, err
	}
	proxies, err := a.unitedCAs(proxiesKey, stored[proxiesKey], a.proxies)
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	if clients != "" {
		data[clientsKey] = clients
	}
	if proxies != "" {
		data[proxiesKey] = proxies
	}
	for _, list := range []struct {
		key string
		own []string
	}{
		{"requestheader-username-headers", a.proxy.UsernameHeaders}, {uidsKey, a.proxy.UIDHeaders}, {"requestheader-group-headers", a.proxy.GroupHeaders},
		{"requestheader-extra-headers-prefix", a.proxy.ExtraPrefixes}, {"requestheader-allowed-names", a.proxy.AllowedNames},
	} {
		names, err := unitedNames(stored[list.key], list.own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.key, err)
		}
		if proxies != "" && (list.key != uidsKey || names != "[]") {
			data[list.key] = names
		}
	}
	return data, nil
}

// unitedCAs returns the certificates of a stored text and of this server in PEM, each one once and none that has expired.
func (a *authenticationInfo) unitedCAs(key, stored string, own *certs.CABundle) (text string, err error) {
	all, err := pems.Certificates(key, []byte(stored))
	if stored != "" && err != nil {
		return "", err
	}
	if own != nil {
		all = append(all, own.Certificates()...)
	}
	for _, certificate := range all {
		block := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
		if certificate.NotAfter.After(a.now().Add(-expirySlack)) && !strings.Contains(text, block) {
			text += block
		}
	}
	return text, nil
}

// unitedNames returns the names of a stored list and of this server, each one once, as a list in JSON.
func unitedNames(stored string, own []string) (string, error) {
	var others []string
	if stored != "" && json.Unmarshal([]byte(stored), &others) != nil {
		return "", errors.New("is not a list of names in JSON")
	}
	names := []string{}
	for _, name := range slices.Concat(others, own) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text, err := json.Marshal(names)
	return string(text), err
}
