package kubelet_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// needsConfig lets a pod's container need the value of a config map.
func needsConfig(pod *corev1.Pod) { withEnv(configKey("A", "config", "color", false))(pod) }

func TestAContainerWaitsForWhatItsEnvironmentNeeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*corev1.Pod)
		message string
	}{
		"a config map":              {withEnv(configKey("A", "late", "color", false)), `configmap "late" not found`},
		"a config map for all":      {withEnvFrom(allOfConfigMap("late", "", false)), `configmap "late" not found`},
		"a key of a config map":     {withEnv(configKey("A", "early", "color", false)), "couldn't find key color in ConfigMap default/early"},
		"a binary key":              {withEnv(configKey("A", "early", "binary", false)), "couldn't find key binary in ConfigMap default/early"},
		"a secret":                  {withEnv(secretKey("A", "late", "password", false)), `secret "late" not found`},
		"a secret for all":          {withEnvFrom(allOfSecret("late", "", false)), `secret "late" not found`},
		"a key of a secret":         {withEnv(secretKey("A", "early", "password", false)), "couldn't find key password in Secret default/early"},
		"a part of a volume's path": {subPathOf("$(A)/$(EMPTY)"), "missing value for A, EMPTY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.createConfigMap("early", nil)
				c.createSecret("early", nil)
				c.create(makePod("web-1", test.change))
				pass(500 * time.Millisecond)
				assert.Equal(t, "Pending 0/1 CreateContainerConfigError, 0 restarts", c.glance("web-1"))
				assert.Equal(t, test.message, c.get("web-1").Status.ContainerStatuses[0].State.Waiting.Message)
				assert.Equal(t, []string{`Pulled: Container image "nginx:1.8" already present on machine`, "Failed: Error: " + test.message}, c.events.take())
				assert.Empty(t, r.specs)
				if !strings.Contains(name, "key") && !strings.Contains(name, "path") {
					c.createConfigMap("late", map[string]string{"color": "green"})
					c.createSecret("late", map[string][]byte{"password": []byte("x")})
					pass(time.Second)
					assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
					assert.Len(t, r.last(t).Env, len(r.specs))
				}
			})
		})
	}
}

func subPathOf(expression string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		withEnv(corev1.EnvVar{Name: "EMPTY"})(pod)
		withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(pod)
		pod.Spec.Containers[0].VolumeMounts[0].SubPathExpr = expression
	}
}

// K114.
func TestWhatIsMissingIsLookedForAfterPausesThatGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var asked []time.Duration
		began := time.Now()
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.Contains(req.URL.Path, "/configmaps/") {
				asked = append(asked, time.Since(began))
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", needsConfig))
		for range 3 { // what else happens to the pod changes nothing
			pass(100 * time.Millisecond)
			c.annotate("web-1", "log", time.Now().String())
		}
		pass(time.Minute)
		const second = time.Second
		assert.Equal(t, []time.Duration{0, 1 * second, 3 * second, 7 * second, 15 * second, 30 * second, 45 * second, 60 * second}, asked)
		assert.Len(t, c.events.of("Failed"), len(asked))
	})
}

func TestAPodThatNeedsNothingOfTheServerCostsNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := startWatched(t)
		var asked atomic.Value
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == c.config.Client.UserAgent && req.Method == http.MethodGet && !strings.HasPrefix(req.URL.Path, "/api/v1/nodes/") {
				asked.Store(req.URL.Path)
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", withEnv(corev1.EnvVar{Name: "A", Value: "1"}), withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
			func(pod *corev1.Pod) {
				unused := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("unused")}}
				token := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("kube-root-ca.crt")}}}}}
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "unused", VolumeSource: unused}, corev1.Volume{Name: "kube-api-access-x", VolumeSource: token})
				pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "kube-api-access-x", MountPath: "/token"})
			}))
		pass(time.Minute)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Nil(t, asked.Load())
		assert.Nil(t, r.last(t).Files)
	})
}

func TestARestartNeedsTheEnvironmentAsItIsThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := startWatched(t)
		c.createConfigMap("config", map[string]string{"color": "green"})
		c.create(makePod("web-1", needsConfig, told("exit-after", "10s")))
		pass(5 * time.Second)
		assert.Equal(t, []string{"A=green"}, r.last(t).Env)
		require.NoError(t, c.client.ConfigMaps().Delete(t.Context(), "config", metav1.DeleteOptions{}))
		pass(7 * time.Second)
		assert.Equal(t, "Running 0/1 CreateContainerConfigError, 0 restarts", c.glance("web-1"))
		assert.Equal(t, int32(0), c.get("web-1").Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
		c.createConfigMap("config", map[string]string{"color": "red"})
		pass(5 * time.Second)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"), "only what has run counts")
		assert.Equal(t, []string{"A=red"}, r.last(t).Env)

		require.NoError(t, c.client.ConfigMaps().Delete(t.Context(), "config", metav1.DeleteOptions{}))
		pass(30 * time.Second)
		assert.Equal(t, "Running 0/1 CreateContainerConfigError, 1 restarts", c.glance("web-1"))
		c.delete("web-1", -1)
		pass(time.Second)
		assert.False(t, c.exists("web-1"))
	})
}

func TestAContainerThatWaitsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", needsConfig, told("exit-after.other", "20s"), func(pod *corev1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "other", Image: "i"})
		}))
		pass(19 * time.Second)
		assert.Equal(t, "Pending 0/2 CreateContainerConfigError + running, 0 restarts", strings.Replace(c.glance("web-1"), "1/2", "0/2", 1))
		pass(2 * time.Second) // the next look for the config map would be at 30s
		assert.Contains(t, c.glance("web-1"), "CreateContainerConfigError + running, 1 restarts")
	})
}

func TestInitContainersWaitForWhatTheyNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", func(pod *corev1.Pod) {
			needsConfig(pod)
			pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i", Env: pod.Spec.Containers[0].Env}}
		}))
		pass(time.Second / 2)
		pod := c.get("web-1")
		assert.Equal(t, "CreateContainerConfigError", pod.Status.InitContainerStatuses[0].State.Waiting.Reason)
		assert.Equal(t, "PodInitializing", pod.Status.ContainerStatuses[0].State.Waiting.Reason)
		_, err := c.client.ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"color": "green"}})
		require.NoError(t, err)
		pass(2 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
	})
}

func TestWhatIsNeededIsFetchedAgainAfterFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(w http.ResponseWriter, req *http.Request){
		"the answer is lost": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the server is busy": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) },
		"there is no answer": func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.createConfigMap("config", map[string]string{"color": "green"})
				var faulty atomic.Bool
				faulty.Store(true)
				c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
					if strings.HasSuffix(req.URL.Path, "/configmaps/config") && faulty.Load() {
						fault(w, req)
						return
					}
					next.ServeHTTP(w, req)
				})
				c.create(makePod("web-1", needsConfig))
				c.create(makePod("web-2"))
				pass(time.Minute)
				assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-2"), "no other pod waits")
				assert.Empty(t, c.events.of("Failed"), "what is not known to be missing is not said to be")
				faulty.Store(false)
				pass(time.Minute)
				assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
			})
		})
	}
}

func TestWhatTheServerRefusesIsAProblemOfTheContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/secrets/secret") {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", withEnv(secretKey("A", "secret", "k", true))))
		pass(time.Second)
		assert.Equal(t, "Pending 0/1 CreateContainerConfigError, 0 restarts", c.glance("web-1"), "also if the secret is optional")
	})
}

func TestAPodThatWaitsEndsAndAKubeletThatStartsAgainLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", needsConfig))
		c.create(makePod("leaving", needsConfig))
		pass(10 * time.Second)
		c.delete("leaving", -1)
		pass(time.Second)
		assert.False(t, c.exists("leaving"))
		c.stop()
		c.createConfigMap("config", map[string]string{"color": "green"})
		c.start()
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
	})
}

func TestAPodOfTheSameNameIsSuppliedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := startWatched(t)
		c.createConfigMap("config", map[string]string{"color": "green"})
		for _, want := range []string{"1", "2"} {
			// While the pod is fetched for, it is replaced by another one.
			c.create(makePod("web-1", needsConfig))
			c.delete("web-1", 0)
			c.create(makePod("web-1", needsConfig, withEnv(corev1.EnvVar{Name: "N", Value: want})))
			pass(5 * time.Second)
			assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
			assert.Equal(t, []string{"A=green", "N=" + want}, r.last(t).Env)
			c.delete("web-1", 0)
			pass(time.Second)
		}
	})
}
