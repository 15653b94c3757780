// Package tokenfile authenticates users by the bearer tokens that a file lists.
package tokenfile

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util"
)

// Authenticator is an authenticator.Token of a file. A changed file is read again; while it is
// broken, the old tokens stay.
type Authenticator struct {
	tokens *util.Reloaded[*tokens]
}

// New reads a file. Each line is in the CSV format: token, user, uid, and an optional column of
// groups: "group1,group2". An error names the file, the line and the mistake, but not the content.
func New(file string) (*Authenticator, error) {
	reloaded, err := util.ReloadFile("-token_auth_file", file, parse)
	if err != nil {
		return nil, err
	}
	return &Authenticator{reloaded}, nil
}

// AuthenticateToken implements authenticator.Token. It has no errors.
func (a *Authenticator) AuthenticateToken(_ context.Context, token string) (*user.Info, bool, error) {
	all := a.tokens.Get()
	who, ok := all.users[all.digest(token)]
	return who, ok, nil
}

// tokens has users by keyed digests of their tokens. The time of a look-up reveals nothing about
// the tokens, because no client can compute a digest.
type tokens struct {
	key   [32]byte
	users map[[sha256.Size]byte]*user.Info
}

func (t *tokens) digest(token string) (sum [sha256.Size]byte) {
	hash := hmac.New(sha256.New, t.key[:])
	hash.Write([]byte(token))
	hash.Sum(sum[:0])
	return sum
}

func parse(text []byte) (*tokens, error) {
	all := &tokens{users: map[[sha256.Size]byte]*user.Info{}}
	rand.Read(all.key[:]) // never fails
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1
	lines := map[[sha256.Size]byte]int{}
	for {
		fields, err := reader.Read()
		if err == io.EOF {
			return all, nil
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, fmt.Errorf("line %d: %w", broken.Line, broken.Err)
		}
		line, _ := reader.FieldPos(0)
		who, err := parseUser(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		sum := all.digest(fields[0])
		if lines[sum] > 0 {
			return nil, fmt.Errorf("line %d: the token is that of line %d", line, lines[sum])
		}
		all.users[sum], lines[sum] = who, line
	}
}

func parseUser(fields []string) (*user.Info, error) {
	switch {
	case len(fields) < 3:
		return nil, fmt.Errorf("there are %d columns, but token, user and uid are needed", len(fields))
	case len(fields) > 4:
		return nil, fmt.Errorf("there are %d columns, but groups are one: \"group1,group2\"", len(fields))
	case fields[0] == "":
		return nil, errors.New("the token is empty")
	case fields[1] == "":
		return nil, errors.New("the user is empty")
	}
	who := &user.Info{Name: fields[1], UID: fields[2]}
	if len(fields) == 4 {
		for group := range strings.SplitSeq(fields[3], ",") {
			if group = strings.TrimSpace(group); group != "" {
				who.Groups = append(who.Groups, group)
			}
		}
	}
	return who, nil
}
