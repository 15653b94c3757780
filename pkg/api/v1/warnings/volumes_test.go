package warnings

import "testing"

func TestVolumesThatNoNodeHasAreTold(t *testing.T) {
	t.Parallel()
	volume := func(source string) string { return podSpec(`"volumes":[{"name":"v",` + source + `}]`) }
	rows := map[string]said{"another": {volume(`"emptyDir":{}`), "", nil}}
	for kind, end := range map[string]string{
		"photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
		"gitRepo":              "deprecated in v1.11, and disabled by default in v1.33+",
		"scaleIO":              "deprecated in v1.16, non-functional in v1.22+",
		"flocker":              "deprecated in v1.22, non-functional in v1.25+",
		"storageos":            "deprecated in v1.22, non-functional in v1.25+",
		"quobyte":              "deprecated in v1.22, non-functional in v1.25+",
		"glusterfs":            "deprecated in v1.25, non-functional in v1.26+",
		"cephfs":               "deprecated in v1.28, non-functional in v1.31+",
		"rbd":                  "deprecated in v1.28, non-functional in v1.31+",
	} {
		field := kind
		if kind == "storageos" {
			field = "storageOS" // the words of today's server
		}
		rows[kind] = said{volume(`"` + kind + `":{}`), "", []string{"spec.volumes[0]." + field + ": " + end}}
	}
	says(t, Pod, rows)
	const half = `{"resources":{"requests":{"storage":"500m"}}}`
	says(t, PersistentVolumeClaim, map[string]said{
		"half a byte": {`{"spec":` + half + `}`, "", []string{`spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer`}},
		"annotation": {`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":""}}}`, "",
			[]string{`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`}},
	})
	says(t, Pod, map[string]said{"of a pod": {volume(`"ephemeral":{"volumeClaimTemplate":{"spec":` + half + `}}`), "",
		[]string{`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer`}}})
}

func TestFilesInThePlaceOfOthersAreTold(t *testing.T) {
	t.Parallel()
	volume := func(source string) string { return podSpec(`"volumes":[{"name":"v",` + source + `}]`) }
	const twoFiles = `"items":[{"path":"a"},{"path":"a/b/"},{"path":"ab"}]`
	says(t, Pod, map[string]said{
		"config map": {volume(`"configMap":{"name":"x",` + twoFiles + `}`), "", []string{`volume "v" (ConfigMap "x"): overlapping paths: "a/b" with "a"`}},
		"secret":     {volume(`"secret":{"secretName":"x",` + twoFiles + `}`), "", []string{`volume "v" (Secret "x"): overlapping paths: "a/b" with "a"`}},
		"fields":     {volume(`"downwardAPI":{` + twoFiles + `}`), "", []string{`volume "v" (DownwardAPI): overlapping paths: "a/b" with "a"`}},
		"projected": {volume(`"projected":{"sources":[{"configMap":{"name":"x","items":[{"path":"a"}]}},{"secret":{"name":"y","items":[{"path":"a"}]}},
			{"downwardAPI":{"items":[{"path":"b"}]}},{"serviceAccountToken":{"path":"b"}},{"clusterTrustBundle":{"signerName":"s","path":"c/d"}},{"podCertificate":{"keyPath":"c"}}]}`), "", []string{
			`volume "v" (Projected): overlapping paths: "a" (Secret "y") with "a" (ConfigMap "x")`,
			`volume "v" (Projected): overlapping paths: "b" (ServiceAccountToken) with "b" (DownwardAPI)`,
			`volume "v" (Projected): overlapping paths: "c" (PodCertificate key) with "c/d" (ClusterTrustBundle "s")`,
		}},
	})
}
