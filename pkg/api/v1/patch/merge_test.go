package patch

import (
	"encoding/json"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
)

// randomJSON returns a value of at most so many levels. In an object, as many members are
// null as there are of each other kind.
func randomJSON(random *rand.Rand, levels int) any {
	switch kind := random.Intn(5); {
	case kind == 0:
		return nil
	case kind == 1 || levels == 0:
		return json.Number([]string{"1", "2.50", "12345678901234567890"}[random.Intn(3)])
	case kind == 2:
		return []string{"", "<é>", "x"}[random.Intn(3)]
	case kind == 3:
		list := []any{}
		for range random.Intn(3) {
			list = append(list, randomJSON(random, levels-1))
		}
		return list
	}
	return randomObject(random, levels)
}

func randomObject(random *rand.Rand, levels int) any {
	object := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if random.Intn(3) > 0 {
			object[name] = randomJSON(random, levels-1)
		}
	}
	return object
}

func TestAMergePatchMergesAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	for range 5000 {
		text, err := json.Marshal(randomObject(random, 4))
		require.NoError(t, err)
		patch, err := json.Marshal(randomObject(random, 4))
		require.NoError(t, err)
		want, err := jsonpatch.MergePatch(text, patch)
		require.NoError(t, err)
		changes, err := Parse(types.MergePatchType, patch)
		require.NoError(t, err)
		got, err := changes.Apply(text)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s merged into %s", patch, text)
	}
}
