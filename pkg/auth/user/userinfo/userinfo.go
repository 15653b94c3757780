// Package userinfo converts users to today's API.
package userinfo

import (
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/user"
)

// Of returns a user in the form of reviews and of the audit, the zero value for nil. It shares the
// values of the user, which must not be changed.
func Of(who *user.Info) (info authenticationv1.UserInfo) {
	if who == nil {
		return info
	}
	info.Username, info.UID, info.Groups = who.Name, who.UID, who.Groups
	for key, values := range who.Extra {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
