package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	authentication "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/auth/user"
)

// askTokens starts the servers of a recording one after the other, and shows each its tokens, which it makes anew.
func askTokens(ctx context.Context, r *recorder, file string) (after []byte, err error) {
	recording, err := authenticatortest.Read(file)
	if err != nil {
		return nil, err
	}
	issuer, err := authenticatortest.Serve()
	if err != nil {
		return nil, err
	}
	defer issuer.Close()
	for _, one := range recording.Servers {
		if err := r.askAboutTokens(ctx, issuer, one, recording); err != nil {
			return nil, fmt.Errorf("the server %s: %w", one.Name, err)
		}
	}
	return recording.Text()
}

func (r *recorder) askAboutTokens(ctx context.Context, issuer *authenticatortest.Issuer, one authenticatortest.Server, recording *authenticatortest.Recording) error {
	ca := filepath.Join(r.Dir, "issuer.pem")
	if err := os.WriteFile(ca, issuer.CA, 0o600); err != nil {
		return err
	}
	s, err := r.start(append([]string{"--enable-bootstrap-token-auth", "--oidc-issuer-url", issuer.URL, "--oidc-client-id", "kube", "--oidc-ca-file", ca}, one.Flags...)...)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.createSecrets(ctx, recording.Secrets); err != nil {
		return err
	}
	ready := false
	for i := range recording.Tokens {
		t := &recording.Tokens[i]
		if t.Server != one.Name {
			continue
		}
		if !ready {
			if err := s.until(ctx, func() (bool, error) { return s.getsIn(ctx, issuer, *t) }); err != nil {
				return fmt.Errorf("the token %s: %w", t.About, err)
			}
			ready = true
		}
		if t.Answer, err = s.show(ctx, issuer, *t); err != nil {
			return fmt.Errorf("the token %s: %w", t.About, err)
		}
	}
	return nil
}

// getsIn reports whether the server knows the issuer, by a good token, and all secrets, by the last one.
func (s *server) getsIn(ctx context.Context, issuer *authenticatortest.Issuer, good authenticatortest.Token) (bool, error) {
	for _, t := range []authenticatortest.Token{good, {Text: lastToken}} {
		answer, err := s.show(ctx, issuer, t)
		if err != nil || answer.Code != http.StatusOK {
			return false, err
		}
	}
	return true, nil
}

// show shows the server a token.
func (s *server) show(ctx context.Context, issuer *authenticatortest.Issuer, t authenticatortest.Token) (authenticatortest.Answer, error) {
	text, err := issuer.Make(t, time.Now())
	if err != nil {
		return authenticatortest.Answer{}, err
	}
	var review authentication.SelfSubjectReview
	code, message, err := s.sendWith(ctx, text, nil, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, &review)
	switch {
	case err != nil:
		return authenticatortest.Answer{}, err
	case code == http.StatusUnauthorized:
		return authenticatortest.AnswerOf(nil, issuer), nil
	case code != http.StatusCreated:
		return authenticatortest.Answer{}, fmt.Errorf("%d: %s", code, message)
	}
	who := review.Status.UserInfo
	return authenticatortest.AnswerOf(&user.Info{Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: user.ConvertExtra[[]string](who.Extra)}, issuer), nil
}

const secrets, lastToken = "/api/v1/namespaces/kube-system/secrets", "zzzzzz.0123456789abcdef"

// createSecrets creates secrets, and after them that of lastToken.
func (s *server) createSecrets(ctx context.Context, all []authenticatortest.Secret) error {
	last := authenticatortest.Secret{Name: "bootstrap-token-zzzzzz",
		Data: map[string]string{"token-id": "zzzzzz", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}}
	for _, one := range append(all[:len(all):len(all)], last) {
		if err := s.must(ctx, http.MethodPost, secrets, one.Object(time.Now()), nil); err != nil {
			return err
		}
		if one.Deleted {
			if err := s.must(ctx, http.MethodDelete, secrets+"/"+one.Name, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
