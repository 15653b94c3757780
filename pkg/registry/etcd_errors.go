package registry

import (
	"errors"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// The errors of etcd that the registry acts on.
const (
	notFound      = 100
	compareFailed = 101
	notAFile      = 102
	notADirectory = 104
	alreadyExists = 105
	formTooLarge  = 210
)

// hasCode reports whether etcd refused with one of the codes.
func hasCode(err error, codes ...int) bool {
	var refused *etcd.EtcdError
	return errors.As(err, &refused) && slices.Contains(codes, refused.ErrorCode)
}

// ignore drops an error of one of the codes.
func ignore(err error, codes ...int) error {
	if hasCode(err, codes...) {
		return nil
	}
	return err
}

// failed turns an error of etcd, or of the connection to it, into an *api.Error;
// nil stays nil. Codes 300 to 399 are the raft protocol's: no leader, or no
// quorum in time.
func failed(operation string, err error) error {
	var refused *etcd.EtcdError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && (refused.ErrorCode < 300 || refused.ErrorCode >= 400):
		why := refused.Message
		if hasCode(err, notAFile, notADirectory) {
			why += " (key " + keyInWords(refused.Cause) + ")"
		}
		return &api.Error{Kind: api.Internal, Message: operation + ": etcd refused the request: " + why, Err: err}
	}
	return api.NewUnavailable(operation, err)
}
