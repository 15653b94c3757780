package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAProgramThatIsStartedWhenTheRunIsOverIsEnded(t *testing.T) {
	t.Parallel()
	r := &Run{}
	r.finish()
	_, err := r.Start("sleep", "infinity")
	assert.EqualError(t, err, `sleep does not serve: "": EOF`)
}

func TestAProgramThatDoesNotServeIsToldWithItsFirstLine(t *testing.T) {
	t.Parallel()
	for script, text := range map[string]string{
		"echo no port is free >&2":       `sh does not serve: "no port is free\n": there is no address in it`,
		"printf 'no port is free' >&2":   `sh does not serve: "no port is free": EOF`,
		"exit 1":                         `sh does not serve: "": EOF`,
		"echo at http://127.0.0.1:1 >&2": "",
	} {
		r := &Run{}
		got, err := r.Start("sh", "-c", script)
		r.Close()
		if text != "" {
			assert.EqualError(t, err, text)
			continue
		}
		assert.NoError(t, err)
		assert.Equal(t, "127.0.0.1:1", got.Address)
	}
}
