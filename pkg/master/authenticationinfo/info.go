// Package authenticationinfo publishes how the apiservers authenticate requests.
package authenticationinfo

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/pems"
)

var key = rest.Key{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// expirySlack is how long an expired certificate stays published, as clocks differ.
const expirySlack = 5 * time.Minute

// errNothingToSay ends an update that would create an empty config map.
var errNothingToSay = errors.New("there is nothing to say")

// Info keeps the config map that tells servers behind the aggregator whom the apiservers trust: who signs the
// certificates of clients, and the front proxy with its headers. It adds to what other apiservers have written.
type Info struct {
	ConfigMaps       rest.Updater
	Clients, Proxies *certs.CABundle // nil for none
	Proxy            authenticator.FrontProxy
}

// Sync creates or completes the config map. It writes nothing if that says all.
func (i *Info) Sync() error {
	options := rest.AsServer()
	options.ForceCreate = true
	_, _, err := i.ConfigMaps.Update(context.Background(), key, i.complete, options)
	if errors.Is(err, errNothingToSay) {
		return nil
	}
	return err
}

// complete returns the config map with what this server says, nil for a missing one.
func (i *Info) complete(current rest.Object) (rest.Object, error) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if current != nil {
		configMap = current.(*corev1.ConfigMap)
	}
	data, err := i.united(configMap.Data)
	size := 0
	for _, value := range data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize { // the others add theirs again
		data, err = i.united(nil)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("config map %s/%s: %w", key.Namespace, key.Name, err)
	case current == nil && len(data) == 0:
		return nil, errNothingToSay
	}
	configMap.Data = data
	return configMap, nil
}

// united returns what is stored and what this server says. Other keys are dropped.
func (i *Info) united(stored map[string]string) (map[string]string, error) {
	const clientsKey, proxiesKey, uidsKey = "client-ca-file", "requestheader-client-ca-file", "requestheader-uid-headers"
	clients, err := i.unitedCAs(clientsKey, stored[clientsKey], i.Clients)
	if err != nil {
		return nil, err
	}
	proxies, err := i.unitedCAs(proxiesKey, stored[proxiesKey], i.Proxies)
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
		{"requestheader-username-headers", i.Proxy.UsernameHeaders}, {uidsKey, i.Proxy.UIDHeaders}, {"requestheader-group-headers", i.Proxy.GroupHeaders},
		{"requestheader-extra-headers-prefix", i.Proxy.ExtraPrefixes}, {"requestheader-allowed-names", i.Proxy.AllowedNames},
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
func (i *Info) unitedCAs(key, stored string, own *certs.CABundle) (text string, err error) {
	all, err := pems.Certificates(key, []byte(stored))
	if stored != "" && err != nil {
		return "", err
	}
	if own != nil {
		all = append(all, own.Certificates()...)
	}
	for _, certificate := range all {
		block := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
		if certificate.NotAfter.After(time.Now().Add(-expirySlack)) && !strings.Contains(text, block) {
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
