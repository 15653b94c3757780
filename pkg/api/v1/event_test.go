package v1

import (
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
)

func TestAnEventThatIsPutInItsNewFormIsKeptWhole(t *testing.T) {
	t.Parallel()
	inCore, inEvents := codecOf("Event"), NewCodec(eventsv1.SchemeGroupVersion.WithKind("Event"), "events", Scheme)
	for seed := range int64(seeds) {
		event := makeV1(t, "Event", seed)
		stored, err := inCore.ToInternal(event)
		require.NoError(t, err)
		out, err := inEvents.ToVersioned(stored)
		require.NoError(t, err)
		back, err := inEvents.ToInternal(out)
		require.NoError(t, err)
		again, err := inCore.ToVersioned(back)
		require.NoError(t, err)
		requireSameJSON(t, event, again)
	}
}
