package kubelet_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
)

// withVolume mounts a volume v at /v.
func withVolume(source corev1.VolumeSource, change ...func(*corev1.VolumeMount)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		mount := corev1.VolumeMount{Name: "v", MountPath: "/v"}
		for _, change := range change {
			change(&mount)
		}
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, mount)
	}
}

func configVolume(name string, optional bool, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named(name), Items: items, Optional: &optional}}
}

func secretVolume(name string, optional bool, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Items: items, Optional: &optional}}
}

func claimVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

func configProjection(name string, optional bool) corev1.VolumeProjection {
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named(name), Optional: &optional}}
}

func secretProjection(name string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: named(name)}}
}

var downward = []corev1.DownwardAPIVolumeFile{
	{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels"}},
	{Path: "dir/cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "web", Resource: "limits.cpu", Divisor: resource.MustParse("1m")}},
}

func TestAContainerSeesTheFilesOfItsVolumes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   map[string]string
	}{
		"a config map":        {withVolume(configVolume("config", false)), map[string]string{"/v/binary": "\x00\x01", "/v/color": "green", "/v/size": "big"}},
		"items":               {withVolume(configVolume("config", false, corev1.KeyToPath{Key: "color", Path: "a/b"})), map[string]string{"/v/a/b": "green"}},
		"a secret":            {withVolume(secretVolume("secret", false)), map[string]string{"/v/password": "x y"}},
		"an empty directory":  {withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil},
		"what is optional":    {withVolume(configVolume("none", true)), nil},
		"an optional item":    {withVolume(secretVolume("secret", true, corev1.KeyToPath{Key: "none", Path: "a"})), nil},
		"an optional source":  {withVolume(projected(configProjection("none", true), secretProjection("secret"))), map[string]string{"/v/password": "x y"}},
		"several sources":     {withVolume(projected(configProjection("config", false), secretProjection("secret"), corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: downward}})), map[string]string{"/v/binary": "\x00\x01", "/v/color": "green", "/v/size": "big", "/v/password": "x y", "/v/labels": "a=\"1\"\nb=\"2\"", "/v/dir/cpu": "4000"}},
		"fields of the pod":   {withVolume(corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: downward}}), map[string]string{"/v/labels": "a=\"1\"\nb=\"2\"", "/v/dir/cpu": "4000"}},
		"a claim that exists": {withVolume(claimVolume("claim")), nil},
		"one file of a volume": {withVolume(configVolume("config", false), func(m *corev1.VolumeMount) { m.MountPath, m.SubPath = "/etc/color.conf", "color" }),
			map[string]string{"/etc/color.conf": "green"}},
		"a directory of a volume": {withVolume(configVolume("config", false, corev1.KeyToPath{Key: "color", Path: "a/b"}, corev1.KeyToPath{Key: "size", Path: "ab/c"}), func(m *corev1.VolumeMount) { m.SubPath = "a/" }),
			map[string]string{"/v/b": "green"}},
		"a directory by the name of the pod": {func(pod *corev1.Pod) {
			withEnv(field("NAME", "metadata.name"))(pod)
			withVolume(configVolume("config", false, corev1.KeyToPath{Key: "color", Path: "web-1/b"}, corev1.KeyToPath{Key: "size", Path: "web-2/b"}), func(m *corev1.VolumeMount) { m.SubPathExpr = "$(NAME)" })(pod)
		}, map[string]string{"/v/b": "green"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.createConfigMap("config", map[string]string{"color": "green", "size": "big"})
				c.createSecret("secret", map[string][]byte{"password": []byte("x y")})
				c.createClaim("claim")
				c.create(makePod("web-1", test.change, func(pod *corev1.Pod) { pod.Labels = map[string]string{"b": "2", "a": "1"} }))
				pass(time.Second)
				assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
				var seen map[string]string
				for path, content := range r.last(t).Files {
					if seen == nil {
						seen = map[string]string{}
					}
					seen[path] = string(content)
				}
				assert.Equal(t, test.want, seen)
			})
		})
	}
}

func (c *cluster) createClaim(name string) {
	_, err := c.client.PersistentVolumeClaims().Create(c.t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
	})
	require.NoError(c.t, err)
}

func TestAPodWaitsForItsVolumes(t *testing.T) {
	t.Parallel()
	item := corev1.KeyToPath{Key: "none", Path: "a"}
	for name, test := range map[string]struct {
		source  corev1.VolumeSource
		message string
		comes   bool
	}{
		"a config map":          {configVolume("late", false), `MountVolume.SetUp failed for volume "v" : configmap "late" not found`, true},
		"a key of a config map": {configVolume("early", false, item), `MountVolume.SetUp failed for volume "v" : configmap references non-existent config key: none`, false},
		"a secret":              {secretVolume("late", false), `MountVolume.SetUp failed for volume "v" : secret "late" not found`, true},
		"a key of a secret":     {secretVolume("early", false, item), `MountVolume.SetUp failed for volume "v" : references non-existent secret key: none`, false},
		"a source":              {projected(configProjection("early", false), configProjection("late", false)), `MountVolume.SetUp failed for volume "v" : configmap "late" not found`, true},
		"several sources":       {projected(configProjection("late", false), secretProjection("late")), `MountVolume.SetUp failed for volume "v" : [configmap "late" not found, secret "late" not found]`, true},
		"a claim": {claimVolume("late"), "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: " +
			`error processing PVC default/late: failed to fetch PVC from API server: persistentvolumeclaims "late" not found`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.createConfigMap("early", nil)
				c.createSecret("early", nil)
				c.create(makePod("web-1", withVolume(test.source), func(pod *corev1.Pod) {
					pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}}
				}))
				pass(time.Second / 2)
				assert.Equal(t, "Pending 0/1 PodInitializing, 0 restarts", c.glance("web-1"))
				assert.Equal(t, []string{"FailedMount: " + test.message}, c.events.take(), "also the init container waits, which does not mount it")
				assert.Empty(t, r.specs)
				c.createConfigMap("late", nil)
				c.createSecret("late", nil)
				c.createClaim("late")
				pass(2 * time.Second)
				if test.comes {
					assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
				} else {
					assert.Equal(t, "Pending 0/1 PodInitializing, 0 restarts", c.glance("web-1"))
				}
			})
		})
	}
}

func TestTheContainersOfAPodShareItsVolumesAlsoWhenTheyRestart(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]corev1.VolumeSource{
		"an empty directory": {EmptyDir: &corev1.EmptyDirVolumeSource{}},
		"one of the machine": {HostPath: &corev1.HostPathVolumeSource{Path: "/var/v"}},
		"a claim":            claimVolume("claim"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, r := startWatched(t)
				c.createClaim("claim")
				pod := makePod("web-1", withVolume(source), told("exit-after.web", "10s"), func(pod *corev1.Pod) {
					pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
						Name: "other", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/w/", SubPath: "sub/", ReadOnly: true}},
					})
				})
				c.create(pod)
				pass(15 * time.Second)
				require.Len(t, r.specs, 3)
				shared := r.specs[0].Folders["/v"].Volume
				require.NotNil(t, shared)
				assert.Equal(t, map[string]cri.Folder{"/v": {Volume: shared}}, r.specs[0].Folders)
				assert.Equal(t, map[string]cri.Folder{"/w": {Volume: shared, Path: "sub", ReadOnly: true}}, r.specs[1].Folders)
				assert.Same(t, shared, r.specs[2].Folders["/v"].Volume, "it has started again")
				c.delete("web-1", 0)
				pass(time.Second)
				c.create(pod)
				pass(time.Second)
				assert.NotSame(t, shared, r.last(t).Folders["/w"].Volume)
			})
		})
	}
}

// K114.
func TestAVolumeStaysAlthoughItsConfigMapIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := startWatched(t)
		c.createConfigMap("config", map[string]string{"color": "green"})
		c.create(makePod("web-1", withVolume(configVolume("config", false)), told("exit-after", "1m")))
		pass(time.Second)
		require.NoError(t, c.client.ConfigMaps().Delete(t.Context(), "config", metav1.DeleteOptions{}))
		pass(90 * time.Second)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		assert.Equal(t, "green", string(r.last(t).Files["/v/color"]))
		_, err := c.client.ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"color": "red"}})
		require.NoError(t, err)
		pass(time.Minute)
		assert.Equal(t, "Running 1/1 running, 2 restarts", c.glance("web-1"))
		assert.Equal(t, "red", string(r.last(t).Files["/v/color"]))
	})
}

func TestNobodyMountsMoreFilesThanTheMemoryHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, r := startWatched(t)
		data := map[string]string{}
		for i := range 1000 {
			data[fmt.Sprint(i)] = ""
		}
		c.createConfigMap("config", data)
		c.create(makePod("web-1", withVolume(configVolume("config", false)), func(pod *corev1.Pod) {
			for i := range 10 {
				pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: fmt.Sprintf("/v%d", i)})
			}
		}))
		pass(time.Second)
		assert.Equal(t, "the volumes have more than 10000 files", c.get("web-1").Status.ContainerStatuses[0].State.Waiting.Message)
		assert.Empty(t, r.specs)
	})
}
