package user

import "strings"

const (
	serviceAccount  = "system:serviceaccount:"
	serviceAccounts = "system:serviceaccounts"
)

// ServiceAccount returns the name of the user that a service account is.
func ServiceAccount(namespace, name string) string { return serviceAccount + namespace + ":" + name }

// SplitServiceAccount returns which service account a user of this name is. Ok is false if it
// is none.
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
