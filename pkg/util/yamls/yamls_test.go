package yamls

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheOnlyDocumentIsRead(t *testing.T) {
	t.Parallel()
	for text, read := range map[string]string{
		"a: [1, x]\n": `{"a":[1,"x"]}`, `{"a":[1,"x"]}`: `{"a":[1,"x"]}`, "# words\n---\na: 1\n---\n# more\n": `{"a":1}`, "- 1": `[1]`, "text": `"text"`,
		"--- {b: 2}": `{"b":2}`, "a: 1\n...\n": `{"a":1}`, "a: yes\nb: 010\nc: '1'\n": `{"a":true,"b":8,"c":"1"}`,
	} {
		data, err := ToJSON([]byte(text))
		assert.NoError(t, err, text)
		assert.Equal(t, read, string(data), text)
	}
	for text, problem := range map[string]string{
		"": "is empty", "# nothing\n---\n": "is empty", "null": "is empty",
		"a: 1\n---\ns3cret": "has more than one document", "a: 1\n---\n- s3cret: {": "no YAML, or a field is there twice: line 3",
		"a: 1\n...\ns3cret: 2\n": "no YAML, or a field is there twice: line 2", `{"a":1}{"s3cret":2}`: "no YAML",
		"kind: x\na: b: s3cret":  "no YAML, or a field is there twice: line 2",
		"s3cret: x\ns3cret: y\n": "no YAML, or a field is there twice: line 2",
		"a: *s3cret":             "no YAML", "\x00\xffs3cret": "no YAML",
	} {
		data, err := ToJSON([]byte(text))
		assert.EqualError(t, err, problem, text)
		assert.Nil(t, data, text)
	}
}
