package defaults

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	repository = regexp.MustCompile(`^[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*$`)
	registry   = regexp.MustCompile(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*(:[0-9]+)?$`)
	identifier = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// pullPolicy returns Always for the tag latest, which is also the tag of an image without tag
// and digest. An invalid image has no tag.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	tag := "latest"
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name, tag = name[:colon], name[colon+1:]
	} else if hasDigest {
		return corev1.PullIfNotPresent
	}
	if host, path, ok := strings.Cut(name, "/"); ok && isHost(host) {
		name = path
	}
	if tag != "latest" || !repository.MatchString(name) || identifier.MatchString(image) {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// isHost reports whether the first segment of an image is a registry.
func isHost(name string) bool {
	return registry.MatchString(name) && (name == "localhost" || strings.ContainsAny(name, ".:") || strings.ToLower(name) != name)
}
