package kubelet_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/hollow"
)

// watchedRuntime has what containers were started from.
type watchedRuntime struct {
	*hollow.Runtime
	mu    sync.Mutex // guards what follows
	specs []cri.Spec
}

// Start implements cri.Runtime.
func (r *watchedRuntime) Start(spec cri.Spec) cri.Container {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.specs = append(r.specs, spec)
	return r.Runtime.Start(spec)
}

// last returns what the last container was started from.
func (r *watchedRuntime) last(t *testing.T) cri.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(t, r.specs, "a container was started")
	return r.specs[len(r.specs)-1]
}

// startWatched lets a kubelet run whose runtime is watched.
func startWatched(t *testing.T) (*cluster, *watchedRuntime) {
	c := newCluster(t)
	r := &watchedRuntime{Runtime: &hollow.Runtime{Listen: c.network.Listen, StartAfter: startAfter}}
	c.config.Runtime = r
	c.start()
	return c, r
}

func (c *cluster) createConfigMap(name string, data map[string]string) {
	_, err := c.client.ConfigMaps().Create(c.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data, BinaryData: map[string][]byte{"binary": {0, 1}},
	})
	require.NoError(c.t, err)
}

func (c *cluster) createSecret(name string, data map[string][]byte) {
	_, err := c.client.Secrets().Create(c.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	require.NoError(c.t, err)
}

// withEnv gives a pod's container variables.
func withEnv(variables ...corev1.EnvVar) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, variables...)
	}
}

// withEnvFrom gives a pod's container all variables of other objects.
func withEnvFrom(sources ...corev1.EnvFromSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].EnvFrom = append(pod.Spec.Containers[0].EnvFrom, sources...)
	}
}

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func quantity(name, of, divisor string) corev1.EnvVar {
	selector := &corev1.ResourceFieldSelector{Resource: of}
	if divisor != "" {
		selector.Divisor = resource.MustParse(divisor)
	}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: selector}}
}

func configKey(name, of, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named(of), Key: key, Optional: &optional}}}
}

func secretKey(name, of, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named(of), Key: key, Optional: &optional}}}
}

func allOfConfigMap(name, prefix string, optional bool) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named(name), Optional: &optional}}
}

func allOfSecret(name, prefix string, optional bool) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named(name), Optional: &optional}}
}

func TestAContainerHasTheEnvironmentOfItsDefinition(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"none":         {func(*corev1.Pod) {}, nil},
		"values":       {withEnv(corev1.EnvVar{Name: "B", Value: "2"}, corev1.EnvVar{Name: "A", Value: "1"}, corev1.EnvVar{Name: "EMPTY"}), []string{"A=1", "B=2", "EMPTY="}},
		"the last one": {withEnv(corev1.EnvVar{Name: "A", Value: "1"}, corev1.EnvVar{Name: "A", Value: "$(A)2"}), []string{"A=12"}},
		"fields": {withEnv(field("NAME", "metadata.name"), field("NAMESPACE", "metadata.namespace"), field("LABEL", "metadata.labels['tier']"),
			field("ANNOTATION", "metadata.annotations['example.org/a']"), field("NONE", "metadata.labels['other']"), field("NODE", "spec.nodeName"),
			field("ACCOUNT", "spec.serviceAccountName"), field("HOST", "status.hostIP"), field("HOSTS", "status.hostIPs"), field("IP", "status.podIP"), field("IPS", "status.podIPs"),
		), []string{"ACCOUNT=robot", "ANNOTATION=b", "HOST=127.0.0.2", "HOSTS=127.0.0.2", "IP=127.1.2.1", "IPS=127.1.2.1", "LABEL=front", "NAME=web-1",
			"NAMESPACE=default", "NODE=127.0.0.2", "NONE="}},
		"resources": {withEnv(quantity("CPU", "requests.cpu", ""), quantity("MILLIS", "requests.cpu", "1m"), quantity("MEMORY", "limits.memory", ""),
			quantity("MIBS", "limits.memory", "1Mi"), quantity("MACHINE", "limits.cpu", ""), quantity("REQUESTED", "requests.memory", ""), quantity("DISK", "limits.ephemeral-storage", ""),
		), []string{"CPU=2", "DISK=0", "MACHINE=4", "MEMORY=104857601", "MIBS=101", "MILLIS=1500", "REQUESTED=104857601"}},
		"config maps and secrets": {func(pod *corev1.Pod) {
			withEnvFrom(allOfConfigMap("config", "", false), allOfSecret("secret", "S_", false))(pod)
			withEnv(configKey("KEY", "config", "color", false), secretKey("PASSWORD", "secret", "password", false), corev1.EnvVar{Name: "color", Value: "$(S_password)"})(pod)
		}, []string{"KEY=green", "PASSWORD=x y", "S_password=x y", "color=x y", "size=big"}},
		"what is optional": {func(pod *corev1.Pod) {
			withEnvFrom(allOfConfigMap("none", "", true), allOfSecret("none", "", true))(pod)
			withEnv(configKey("A", "none", "k", true), secretKey("B", "none", "k", true), configKey("C", "config", "k", true), secretKey("D", "secret", "k", true),
				configKey("E", "config", "size", true))(pod)
		}, []string{"E=big"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.createConfigMap("config", map[string]string{"color": "green", "size": "big"})
				c.createSecret("secret", map[string][]byte{"password": []byte("x y")})
				c.create(makePod("web-1", func(pod *corev1.Pod) {
					pod.Labels, pod.Annotations["example.org/a"] = map[string]string{"tier": "front"}, "b"
					pod.Spec.ServiceAccountName = "robot"
					pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
						Limits:   corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(100<<20+1, resource.BinarySI)},
					}
				}, test.change))
				pass(time.Second)
				assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
				assert.Equal(t, test.want, r.last(t).Env)
			})
		})
	}
}

func TestVariablesInValuesAndCommandsAreExpanded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":              "plain",
		"$(A)":               "1",
		"<$(A)-$(B)>":        "<1-2 3>",
		"$(NONE)":            "$(NONE)",
		"$$(A)":              "$(A)",
		"$$$(A)":             "$1",
		"$A ${A} $":          "$A ${A} $",
		"$(A":                "$(A",
		"$(A $(B)":           "$(A $(B)", // a name may have anything but a closing parenthesis
		"$(A)$(":             "1$(",
		"$()":                "$()",
		"$(A))":              "1)",
		"50% of $$5 to $(A)": "50% of $5 to 1",
		"ü$(A)ü$ü":           "ü1ü$ü",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				created := c.create(makePod("web-1", withEnv(corev1.EnvVar{Name: "A", Value: "1"}, corev1.EnvVar{Name: "B", Value: "2 3"}, corev1.EnvVar{Name: "X", Value: text}),
					func(pod *corev1.Pod) {
						pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args = []string{"run", text}, []string{text, "$(X)"}
					}))
				pass(time.Second)
				spec := r.last(t)
				assert.Equal(t, []string{"A=1", "B=2 3", "X=" + want}, spec.Env)
				assert.Equal(t, []string{"run", want}, spec.Container.Command)
				assert.Equal(t, []string{want, want}, spec.Container.Args)
				assert.Equal(t, created.Spec.Containers[0].Command, c.get("web-1").Spec.Containers[0].Command, "the definition stays")
				assert.Equal(t, []string{"run", text}, spec.Pod.Spec.Containers[0].Command)
			})
		})
	}
}

func TestNobodyMakesAnEnvironmentOrACommandThatFillsTheMemory(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1000_000)
	doubled := func(times int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			withEnv(corev1.EnvVar{Name: "X0", Value: strings.Repeat("x", 1000)})(pod)
			for i := range times {
				withEnv(corev1.EnvVar{Name: fmt.Sprintf("X%d", i+1), Value: fmt.Sprintf("$(X%d)$(X%d)", i, i)})(pod)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"variables that double": {doubled(60), "the environment has more than 1 MiB"},
		"variables of one name": {func(pod *corev1.Pod) {
			for range 1100 {
				withEnv(corev1.EnvVar{Name: "A", Value: strings.Repeat("x", 1000)})(pod)
			}
		}, "the environment has more than 1 MiB"},
		"a command": {func(pod *corev1.Pod) {
			doubled(8)(pod)
			pod.Spec.Containers[0].Args = []string{strings.Repeat("$(X8)", 5)}
		}, "the command has more than 1 MiB"},
		"config maps": {func(pod *corev1.Pod) {
			for i := range 2 {
				withEnvFrom(allOfConfigMap(fmt.Sprintf("large-%d", i), "", false))(pod)
			}
		}, "the environment has more than 1 MiB"},
		"config maps of no variables": {func(pod *corev1.Pod) {
			for i := range 9 {
				withEnv(configKey("A", fmt.Sprintf("large-%d", i), "small", false))(pod)
			}
		}, `configmap "large-8" is too large: a pod can use 8 MiB of config maps and secrets`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
					if !strings.Contains(req.URL.Path, "/configmaps/large-") {
						next.ServeHTTP(w, req)
						return
					}
					_, _ = fmt.Fprintf(w, `{"kind": "ConfigMap", "apiVersion": "v1", "data": {"large": "%s", "small": "s"}}`, large)
				})
				c.create(makePod("web-1", test.change))
				pass(time.Second)
				assert.Equal(t, "Pending 0/1 CreateContainerConfigError, 0 restarts", c.glance("web-1"))
				assert.Equal(t, test.want, c.get("web-1").Status.ContainerStatuses[0].State.Waiting.Message)
				assert.Empty(t, r.specs)
			})
		})
	}
}
