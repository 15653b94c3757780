package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const apiservices = "/apis/apiregistration.k8s.io/v1/apiservices"

// apiServices returns the sorted names of the APIServices.
func (e extended) apiServices() (names []string) {
	var list apiregistrationv1.APIServiceList
	require.NoError(e.t, json.Unmarshal([]byte(e.send(http.StatusOK, "GET", apiservices, "")), &list))
	for _, service := range list.Items {
		names = append(names, service.Name)
	}
	return names
}

// discovered returns the groups of /apis in their order, each with its versions.
func (e extended) discovered() (groups []string) {
	var list metav1.APIGroupList
	require.NoError(e.t, json.Unmarshal([]byte(e.send(http.StatusOK, "GET", "/apis", "")), &list))
	for _, group := range list.Groups {
		text := group.Name
		for _, version := range group.Versions {
			text += " " + version.Version
		}
		assert.Equal(e.t, group.Versions[0], group.PreferredVersion)
		groups = append(groups, text)
	}
	return groups
}

// define creates a definition of a cluster's things with versions, the first of which is stored.
func (e extended) define(plural, group string, versions ...string) {
	e.t.Helper()
	var all []string
	for i, version := range versions {
		all = append(all, aVersion(version, i == 0, oneSize))
	}
	e.send(http.StatusCreated, "POST", crds, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+plural+"."+group+
		`"},"spec":{"group":"`+group+`","names":{"plural":"`+plural+`","kind":"`+strings.ToUpper(plural)+`"},"scope":"Cluster","versions":[`+strings.Join(all, ",")+`]}}`)
	e.established(plural + "." + group)
}

func TestEachVersionHasALocalAPIService(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.define("as", "x.example.com", "v1", "v2beta1", "v2")
		e.define("bs", "x.example.com", "v1beta1", "v10")
		e.define("cs", "a.example.com", "v1")
		groups := e.discovered()
		assert.Equal(t, []string{"apiregistration.k8s.io v1", "apps v1", "events.k8s.io v1"}, groups[:3])
		assert.Equal(t, []string{"a.example.com v1", "x.example.com v10 v2 v1 v2beta1 v1beta1"}, groups[len(groups)-2:], "as on kube-apiserver 1.36.3")

		var versions []string
		for _, group := range groups[1:] {
			name, rest, _ := strings.Cut(group, " ")
			for version := range strings.FieldsSeq(rest) {
				versions = append(versions, version+"."+name)
			}
		}
		versions = append(versions, "v1.")
		slices.Sort(versions)
		eventually(t, func() bool { return slices.Equal(versions, e.apiServices()) }, "each version has an APIService")

		e.send(200, "DELETE", apiservices+"/v2.x.example.com", "")
		eventually(t, func() bool { return slices.Equal(versions, e.apiServices()) }, "one that was deleted is created again")
		e.send(200, "DELETE", crds+"/bs.x.example.com", "")
		versions = slices.DeleteFunc(versions, func(name string) bool {
			return slices.Contains([]string{"v1beta1.x.example.com", "v10.x.example.com"}, name)
		})
		eventually(t, func() bool { return slices.Equal(versions, e.apiServices()) }, "those of a definition go with it")
	})
}

func TestServersOnOneEtcdKeepTheSameAPIServices(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		one := startExtended(t, flags...)
		eventually(t, func() bool { status, _ := one.do("GET", "/readyz", "", ""); return status == http.StatusOK }, "the first one is ready")
		before := one.send(http.StatusOK, "GET", apiservices, "")
		other := startExtended(t, flags...)
		eventually(t, func() bool { status, _ := other.do("GET", "/readyz", "", ""); return status == http.StatusOK }, "the second one is ready")
		var was, is apiregistrationv1.APIServiceList
		require.NoError(t, json.Unmarshal([]byte(before), &was))
		require.NoError(t, json.Unmarshal([]byte(other.send(http.StatusOK, "GET", apiservices, "")), &is))
		assert.Equal(t, was.Items, is.Items, "the second one writes nothing")

		one.define("as", "x.example.com", "v1")
		for _, e := range []extended{one, other} {
			eventually(t, func() bool { return slices.Contains(e.apiServices(), "v1.x.example.com") }, "both have it")
		}
		other.send(200, "DELETE", crds+"/as.x.example.com", "")
		for _, e := range []extended{one, other} {
			eventually(t, func() bool { return !slices.Contains(e.apiServices(), "v1.x.example.com") }, "both lose it")
		}
	})
}
