// Package userinfo tells today's API who a user is.
package userinfo

import (
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/user"
)

// Of returns a user as reviews and the audit tell them, nobody for nil. It shares the values of the user,
// which nobody changes.
func Of(who *user.Info) (told authenticationv1.UserInfo) {
	if who == nil {
		return told
	}
	told.Username, told.UID, told.Groups = who.Name, who.UID, who.Groups
	for key, values := range who.Extra {
		if told.Extra == nil {
			told.Extra = map[string]authenticationv1.ExtraValue{}
		}
		told.Extra[key] = values
	}
	return told
}
