// Package userinfo converts users to today's API.
package userinfo

import (
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/user"
)

// Of returns a user in the form of reviews and of the audit, the zero value for nil. It shares the
// values of the user, which must not be changed.
func Of(who *user.Info) authenticationv1.UserInfo {
	if who == nil {
		return authenticationv1.UserInfo{}
	}
	return authenticationv1.UserInfo{Username: who.Name, UID: who.UID, Groups: who.Groups, Extra: user.ConvertExtra[authenticationv1.ExtraValue](who.Extra)}
}
