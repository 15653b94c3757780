package user

import "strings"

const (
	serviceAccount  = "system:serviceaccount:"
	serviceAccounts = "system:serviceaccounts"
)

// ServiceAccount returns the user name of a service account.
func ServiceAccount(namespace, name string) string { return serviceAccount + namespace + ":" + name }

// SplitServiceAccount returns the service account of a user name. Ok is false if the name is not
// that of one.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccount)
	if !ok {
		return "", "", false
	}
	namespace, name, _ = strings.Cut(rest, ":")
	if namespace == "" || name == "" || strings.Contains(name, ":") {
		return "", "", false
	}
	return namespace, name, true
}

// ServiceAccountGroups returns the groups of the service accounts of a namespace.
func ServiceAccountGroups(namespace string) []string {
	return []string{serviceAccounts, serviceAccounts + ":" + namespace}
}
