package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"kube2014/pkg/util"
)

const (
	pause     = 10 * time.Second // before the issuer is asked again where its keys are
	keysPause = time.Second      // between two fetches of the keys, whatever tokens come
)

// keys are those of an issuer. It is safe for concurrent use.
type keys struct {
	issuer string
	fetch  fetch

	url   atomic.Pointer[string]            // of the keys; nil until the issuer has told it
	known atomic.Pointer[[]jose.JSONWebKey] // the last that were fetched; nil for none

	mu     sync.Mutex
	latest *fetching // nil for none; guarded by mu
}

// fetching is a fetch of the keys.
type fetching struct {
	done chan struct{} // closed when the rest is there
	keys []jose.JSONWebKey
	err  error
	next time.Time // when there may be another one: that of an issuer that is down is as late
}

// isPast reports whether there may be another fetch.
func (f *fetching) isPast() bool {
	select {
	case <-f.done:
		return !time.Now().Before(f.next)
	default:
		return false
	}
}

// find asks the issuer where its keys are, until it tells or the context ends, and fetches them.
func (k *keys) find(ctx context.Context) {
	said := ""
	for {
		err := k.discover(ctx)
		if err == nil {
			_, err := k.renew(ctx)
			k.report(ctx, err)
			return
		}
		if text := err.Error(); text != said {
			k.report(ctx, err)
			said = text
		}
		if !util.Sleep(ctx, pause) {
			return
		}
	}
}

func (k *keys) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		log.Printf("warning: tokens of the OIDC issuer %s are refused until it can be asked for its keys: %v", k.issuer, err)
	}
}

// discover sets the URL of the keys.
func (k *keys) discover(ctx context.Context) error {
	text, err := k.fetch(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return err
	}
	var configuration struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if json.Unmarshal(text, &configuration) != nil {
		return errors.New("its configuration is no JSON, or broken")
	}
	if configuration.Issuer != k.issuer {
		return errors.New("its configuration is that of another issuer")
	}
	// Whoever could change the keys on their way could be anybody.
	if at, err := url.Parse(configuration.Keys); err != nil || at.Scheme != "https" || at.Host == "" {
		return errors.New("the jwks_uri of its configuration is not an https URL")
	}
	k.url.Store(&configuration.Keys)
	return nil
}

// verify returns the payload of a token that one of the keys has signed. If none of the known ones has, the keys are
// fetched again: they may be new.
func (k *keys) verify(ctx context.Context, signed *jose.JSONWebSignature) ([]byte, error) {
	if k.url.Load() == nil {
		return nil, errors.New("the issuer has not been asked for its keys yet")
	}
	if known := k.known.Load(); known != nil {
		if payload, ok := verifiedBy(*known, signed); ok {
			return payload, nil
		}
	}
	newer, err := k.renew(ctx)
	if err != nil {
		return nil, err
	}
	if payload, ok := verifiedBy(newer, signed); ok {
		return payload, nil
	}
	return nil, errors.New("the token is signed by an unknown key")
}

func verifiedBy(keys []jose.JSONWebKey, signed *jose.JSONWebSignature) (payload []byte, ok bool) {
	id := signed.Signatures[0].Header.KeyID
	for _, key := range keys {
		if id != "" && key.KeyID != id {
			continue
		}
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// renew fetches the keys, unless that was done a moment ago. Concurrent calls share a fetch, which goes on when they
// leave: else, who shows forged tokens and leaves could let the issuer be asked as often as he likes.
func (k *keys) renew(ctx context.Context) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	latest := k.latest
	if latest == nil || latest.isPast() {
		latest = &fetching{done: make(chan struct{})}
		k.latest = latest
		go k.load(context.WithoutCancel(ctx), latest)
	}
	k.mu.Unlock()
	select {
	case <-latest.done:
		return latest.keys, latest.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load makes a fetch. It ends within FetchTimeout.
func (k *keys) load(ctx context.Context, f *fetching) {
	defer close(f.done)
	text, err := k.fetch(ctx, *k.url.Load())
	if err == nil {
		f.keys, err = parseKeys(text)
	}
	if err == nil {
		k.known.Store(&f.keys)
	} else {
		f.err = fmt.Errorf("the keys of the issuer cannot be fetched: %w", err)
	}
	f.next = time.Now().Add(keysPause)
}

// parseKeys leaves out keys of other kinds than those that sign tokens here: the issuer may use them for other things.
func parseKeys(text []byte) (known []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(text, &set) != nil {
		return nil, errors.New("they are no JSON, or broken")
	}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil && key.IsPublic() {
			known = append(known, key)
		}
	}
	return known, nil
}
