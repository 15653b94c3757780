package clients

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ours is the folder of programs that make envtest fills, and the environment variable lets its tests run.
const (
	ours            = "../bin/envtest"
	envtestVariable = "KUBE2014_ENVTEST"
)

func onlyForEnvtest(t *testing.T) {
	if os.Getenv(envtestVariable) == "" {
		t.Skip("make envtest-suites runs it")
	}
	log.SetLogger(logr.Discard())
	for _, variable := range []string{"KUBEBUILDER_ASSETS", "USE_EXISTING_CLUSTER"} { // of whoever runs this
		t.Setenv(variable, "")
		require.NoError(t, os.Unsetenv(variable))
	}
}

// begin starts the programs. They end with the test, or before.
func begin(t *testing.T, env *envtest.Environment) client.Client {
	config, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, env.Stop()) })
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

func makeConfigMaps(t *testing.T, c client.Client, n int) {
	for i := range n {
		require.NoError(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c" + strconv.Itoa(i)}}))
	}
}

// cost is what a suite needs.
type cost struct {
	took, cpu time.Duration
	memory    int // KB: the peaks of the processes that are there at the end
}

// runSuite does with the programs of a folder what a suite does at least: it starts them, installs definitions, makes objects,
// and stops them.
func runSuite(t *testing.T, folder string) cost {
	cpu, start := cpuOfChildren(t), time.Now()
	env := &envtest.Environment{BinaryAssetsDirectory: folder, CRDs: definitions(20)}
	makeConfigMaps(t, begin(t, env), 10)
	memory := memoryOfChildren(t)
	require.NoError(t, env.Stop())
	return cost{time.Since(start), cpuOfChildren(t) - cpu, memory}
}

// definitions returns definitions of so many kinds, each with 30 fields.
func definitions(n int) (all []*apiextensionsv1.CustomResourceDefinition) {
	spec := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 30 {
		spec["field"+strconv.Itoa(i)] = apiextensionsv1.JSONSchemaProps{Type: "string", Description: "What a user says here.", Pattern: "^[a-z]*$"}
	}
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: spec}}}
	for i := range n {
		kind, plural := fmt.Sprintf("Kind%d", i), fmt.Sprintf("kind%ds", i)
		all = append(all, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}}},
			},
		})
	}
	return all
}

// cpuOfChildren returns what the processes used that this one started, and that have ended.
func cpuOfChildren(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// children returns the folders in /proc of the processes that this one has started, and that run.
func children(t *testing.T) (folders []string) {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			folders = append(folders, filepath.Dir(file))
		}
	}
	return folders
}

// memoryOfChildren returns the peak of the resident memory of each child that runs, in all.
func memoryOfChildren(t *testing.T) (kb int) {
	for _, folder := range children(t) {
		text, err := os.ReadFile(filepath.Join(folder, "status"))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				one, err := strconv.Atoi(strings.Fields(peak)[0])
				require.NoError(t, err)
				kb += one
			}
		}
	}
	return kb
}

// commandLine returns that of the kube-apiserver that runs.
func commandLine(t *testing.T) []string {
	for _, folder := range children(t) {
		text, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		require.NoError(t, err)
		if line := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"); filepath.Base(line[0]) == "kube-apiserver" {
			return line
		}
	}
	require.Fail(t, "there is no kube-apiserver")
	return nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// The two are measured by turns. The budgets leave some room below the ratios in docs/envtest.md.
func TestEnvtestCostsAFractionOfWhatItCostsWithTodaysPrograms(t *testing.T) {
	onlyForEnvtest(t)
	const rounds = 7
	costs := map[string][]cost{}
	for range rounds {
		for _, folder := range []string{todaysAssets(t), ours} {
			costs[folder] = append(costs[folder], runSuite(t, folder))
		}
	}
	for _, one := range []struct {
		what   string
		value  func(cost) float64
		budget float64
	}{
		{"seconds", func(c cost) float64 { return c.took.Seconds() }, 10},
		{"seconds of CPU", func(c cost) float64 { return c.cpu.Seconds() }, 15},
		{"MB", func(c cost) float64 { return float64(c.memory) / 1024 }, 5},
	} {
		medians := map[bool]float64{}
		for folder, all := range costs {
			var values []float64
			for _, c := range all {
				values = append(values, one.value(c))
			}
			medians[folder == ours] = median(values)
		}
		ratio := medians[false] / medians[true]
		t.Logf("%s: kube-apiserver and etcd %.3f, ours %.3f, 1/%.1f", one.what, medians[false], medians[true], ratio)
		assert.GreaterOrEqual(t, ratio, one.budget, one.what)
	}
}

// todaysAssets returns a folder with today's programs: kube-apiserver and etcd.
func todaysAssets(t *testing.T) string {
	folder := filepath.Join(directory, "today")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, name := range []string{"kube-apiserver", "etcd"} {
		program, err := filepath.Abs(filepath.Join("../bin", name))
		require.NoError(t, err)
		if err := os.Symlink(program, filepath.Join(folder, name)); !os.IsExist(err) {
			require.NoError(t, err)
		}
	}
	return folder
}

// The first server is idle meanwhile.
func TestEnvtestIsReadyAtOnce(t *testing.T) {
	onlyForEnvtest(t)
	begin(t, &envtest.Environment{BinaryAssetsDirectory: ours})
	const rounds = 31
	var ready []float64
	for range rounds {
		ready = append(ready, timeToReady(t))
	}
	t.Logf("from its start until it is ready: median %.1f ms, longest %.1f", median(ready)*1000, slices.Max(ready)*1000)
	assert.LessOrEqual(t, median(ready), 0.030)
}

func TestEnvtestEndsAtOnce(t *testing.T) {
	onlyForEnvtest(t)
	const rounds, watches = 15, 100
	var gone []float64
	for range rounds {
		env := &envtest.Environment{BinaryAssetsDirectory: ours}
		config, err := env.Start()
		require.NoError(t, err)
		for range watches {
			c, err := kubernetes.NewForConfig(config) // on a connection of its own, or not
			require.NoError(t, err)
			watcher, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			defer watcher.Stop()
		}
		start := time.Now()
		require.NoError(t, env.ControlPlane.APIServer.Stop())
		gone = append(gone, time.Since(start).Seconds())
		require.NoError(t, env.Stop())
	}
	t.Logf("from SIGTERM with %d watches until it is gone: median %.1f ms, longest %.1f", watches, median(gone)*1000, slices.Max(gone)*1000)
	assert.LessOrEqual(t, median(gone), 0.050)
}

// timeToReady starts another server with the command line of the one that runs, and returns how many seconds it took until it is ready.
func timeToReady(t *testing.T) float64 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	args := commandLine(t)
	for i, arg := range args {
		if strings.HasPrefix(arg, "--secure-port=") {
			args[i] = "--secure-port=" + port
		}
	}
	another := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	command := exec.Command(args[0], args[1:]...)
	start := time.Now()
	require.NoError(t, command.Start())
	defer func() {
		require.NoError(t, command.Process.Kill())
		_ = command.Wait() // it was killed
	}()
	for {
		response, err := another.Get("https://127.0.0.1:" + port + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return time.Since(start).Seconds()
			}
		}
		require.Less(t, time.Since(start), hangs)
		time.Sleep(time.Millisecond)
	}
}

func TestFiftyEnvironmentsOfEnvtestStartAtOnceAndLeaveNothing(t *testing.T) {
	onlyForEnvtest(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			env := &envtest.Environment{BinaryAssetsDirectory: ours}
			_, err := env.Start()
			assert.NoError(t, err)
			assert.NoError(t, env.Stop())
		})
	}
	all.Wait()
	assert.Empty(t, children(t))
	left, err := filepath.Glob(filepath.Join(folder, "k8s_test_framework_*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestEnvtestHasAKubeconfigAndShowsATrace(t *testing.T) {
	onlyForEnvtest(t)
	var shown bytes.Buffer
	env := &envtest.Environment{BinaryAssetsDirectory: ours}
	server := env.ControlPlane.GetAPIServer()
	server.Configure().Append("trace", "true")
	server.Err = &shown
	makeConfigMaps(t, begin(t, env), 1)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, env.KubeConfig, 0o600))
	printed, err := exec.Command(filepath.Join(ours, "kubectl"), "--kubeconfig", file, "get", "configmaps", "-o", "name").Output()
	require.NoError(t, err)
	assert.Equal(t, "configmap/c0\n", string(printed))
	require.NoError(t, env.Stop())
	assert.Contains(t, shown.String(), "POST /api/v1/namespaces/default/configmaps")
	assert.Contains(t, shown.String(), "Store.Commit(create configmaps \"c0\")")
}

func TestEnvtestKeepsItsObjectsInARealEtcd(t *testing.T) {
	onlyForEnvtest(t)
	t.Setenv("TEST_ASSET_ETCD", "../bin/etcd")
	env := &envtest.Environment{BinaryAssetsDirectory: ours}
	makeConfigMaps(t, begin(t, env), 1)
	// the keys of /registry/configmaps/default/, in base64, as etcd's JSON has them
	asked := strings.NewReader(`{"key": "L3JlZ2lzdHJ5L2NvbmZpZ21hcHMvZGVmYXVsdC8=", "range_end": "L3JlZ2lzdHJ5L2NvbmZpZ21hcHMvZGVmYXVsdDA=", "count_only": true}`)
	response, err := http.Post(env.ControlPlane.Etcd.URL.String()+"/v3/kv/range", "application/json", asked)
	require.NoError(t, err)
	defer response.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(response.Body)
	require.NoError(t, err)
	assert.Contains(t, text.String(), `"count":"1"`)
}
