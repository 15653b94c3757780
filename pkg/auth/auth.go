// Package auth is about users and their rights: its folders are authenticator, authorizer and user.
package auth
