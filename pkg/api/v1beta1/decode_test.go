package v1beta1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// D9: the error says what is wrong with a body, and names the field.
func TestD9ABodyThatIsNotAnObjectOfTheRightTypesIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ body, text string }{
		"empty":                    {"", "body: must be a JSON object, but it is empty"},
		"blanks":                   {" \n", "body: must be a JSON object, but it is empty"},
		"null":                     {"null", "body: must be a JSON object"},
		"an array":                 {"[]", "body: must be a JSON object"},
		"a string":                 {`"task"`, "body: must be a JSON object"},
		"cut short":                {`{"id": "cut"`, "body: is not JSON: unexpected end of JSON input, at byte 12"},
		"two objects":              {`{} {}`, "body: is not JSON: invalid character '{' after top-level value, at byte 4"},
		"an id that is a number":   {`{"id": 7}`, "id: expected a string, got number"},
		"labels that are numbers":  {`{"labels": {"a": 1}}`, "labels: expected a string, got number"},
		"labels that are an array": {`{"labels": []}`, "labels: expected an object, got array"},
		"a container that is a number": {
			`{"desiredState": {"manifest": {"containers": [5]}}}`,
			"desiredState.manifest.containers: expected an object, got number",
		},
		"a number that no float holds": {
			`{"desiredState": {"info": 1e999}}`, "desiredState.info: expected a number in range, got number 1e999",
		},
		"a port with a fraction": {
			`{"desiredState": {"manifest": {"containers": [{"ports": [{"hostPort": 1.5}]}]}}}`,
			"desiredState.manifest.containers.ports.hostPort: expected an integer in range, got number 1.5",
		},
		"containers that are an object": {
			`{"desiredState": {"manifest": {"containers": {}}}}`,
			"desiredState.manifest.containers: expected an array, got object",
		},
		"a read-only that is a word": {
			`{"desiredState": {"manifest": {"containers": [{"volumeMounts": [{"readOnly": "yes"}]}]}}}`,
			"desiredState.manifest.containers.volumeMounts.readOnly: expected true or false, got string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var task api.Task
			err := Codec.Decode(row.body, &task)
			require.EqualError(t, err, row.text)
			assert.Equal(t, api.Invalid, api.KindOf(err))
		})
	}
}

// D33: indenting would make gigabytes out of a deep body.
func TestD33ABodyThatWouldGrowTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	info := func(value string) string { return `{"desiredState": {"info": ` + value + `}}` }
	nested := func(levels int, inside string) string {
		return info(strings.Repeat("[", levels) + inside + strings.Repeat("]", levels))
	}
	wide := strings.Repeat("1,", 400_000) + "1"
	var task api.Task
	for name, body := range map[string]string{
		"deep":          nested(1000, ""),
		"wide":          info("[" + wide + "]"),
		"long":          info(`"` + strings.Repeat("[", 1_000_000) + `"`),
		"a large text":  info(`"` + strings.Repeat("x", 1_000_000) + `"`),
		"many ports":    `{"desiredState": {"manifest": {"containers": [{"ports": [` + strings.Repeat(`{"hostPort":1},`, 60_000) + `{}]}]}}}`,
		"an empty body": `{}`,
	} {
		assert.NoError(t, Codec.Decode(body, &task), name)
	}
	for name, body := range map[string]string{
		"deeper":        nested(5000, ""),
		"deepest":       nested(100_000, ""),
		"deep and wide": nested(29, wide),
	} {
		assert.EqualError(t, Codec.Decode(body, &task), "body: is nested too deeply: indented, it would have more than 16777216 bytes", name)
	}
}

func TestUnknownFieldsAndLetterCaseAreForgiven(t *testing.T) {
	t.Parallel()
	var task api.Task
	require.NoError(t, Codec.Decode(` {"ID": "x", "bogus": [1, {"y": null}], "desiredstate": {"MANIFEST": {"version": "v"}}}`, &task))
	assert.Equal(t, "x", task.ID)
	assert.Equal(t, "v", task.DesiredState.Manifest.Version)
}

func TestEmptyObjectsHaveTheOriginalsJSON(t *testing.T) {
	t.Parallel()
	manifest := `"manifest":{"version":"","volumes":null,"containers":null}`
	for name, row := range map[string]struct {
		object interface{}
		json   string
	}{
		"task":            {Task{}, `{"desiredState":{` + manifest + `},"currentState":{` + manifest + `}}`},
		"task list":       {TaskList{Items: []Task{}}, `{"items":[]}`},
		"controller":      {ReplicationController{}, `{"desiredState":{"replicas":0,"taskTemplate":{"desiredState":{` + manifest + `}}}}`},
		"controller list": {ReplicationControllerList{Items: []ReplicationController{}}, `{}`},
		"service":         {Service{}, `{}`},
		"service list":    {ServiceList{Items: []Service{}}, `{"items":[]}`},
		"endpoints":       {Endpoints{Endpoints: []string{}}, `{"Name":"","Endpoints":[]}`},
		"event":           {Event{}, `{"timestamp":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal(row.object)
			require.NoError(t, err)
			assert.Equal(t, row.json, string(data))
		})
	}
}
