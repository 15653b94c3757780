package authenticator

import (
	"context"
	"time"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/answers"
)

// DefaultCacheTTL is how long the owner of a token is known without a new check, as in today's server. A token that is
// revoked may be good for so long.
const DefaultCacheTTL = 10 * time.Second

// maxCached is twice the number of tokens of a big cluster: 5,000 nodes, and accounts of 10,000 namespaces.
const maxCached = 32 << 10

// Cached remembers the owners of tokens for a time; 0 means not at all. It stores no tokens. Tokens that are unknown or
// wrong are checked each time, but a token is checked only once at a time, whoever shows it: that check ends when nobody
// waits for it any more.
func Cached(tokens Token, ttl time.Duration) Token {
	if ttl <= 0 {
		return tokens
	}
	owners := answers.New[*user.Info](maxCached) // nil for an unknown token
	return TokenFunc(func(ctx context.Context, token string) (*user.Info, bool, error) {
		who, err := owners.Do(ctx, []byte(token), func(ctx context.Context) (*user.Info, time.Duration, error) {
			who, ok, err := tokens.AuthenticateToken(ctx, token)
			if !ok || err != nil {
				return nil, 0, err
			}
			return who, ttl, nil
		})
		return who, who != nil, err
	})
}
