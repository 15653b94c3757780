// Package values encodes objects for a store: as the JSON of June 2014, which programs of
// that time read, with an additional last member for the data of v1, which they ignore.
package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
)

// extra is the last member of an object's JSON.
type extra struct {
	UID               string            `json:"uid,omitempty"`
	CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	Held              bool              `json:"held,omitempty"`
	Pod               bool              `json:"pod,omitempty"` // only if the key does not show it
	SelectsNothing    bool              `json:"selectsNothing,omitempty"`
	Targets           []target          `json:"targets,omitempty"`
	Managed           bool              `json:"managed,omitempty"`
	ManagedFields     []entry           `json:"managedFields,omitzero"` // missing and empty differ
	Remainder         json.RawMessage   `json:"remainder,omitempty"`
}

// entry is an entry of managed fields.
type entry struct {
	Manager     string          `json:"manager,omitempty"`
	Operation   string          `json:"operation,omitempty"`
	APIVersion  string          `json:"apiVersion,omitempty"`
	Time        int64           `json:"time,omitempty"` // in Unix seconds
	Fields      json.RawMessage `json:"fieldsV1,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
}

type target struct {
	TaskID string `json:"task"`
	UID    string `json:"uid,omitempty"`
}

// member is the name of extra in the JSON.
const member = `"v1"`

// onlyV1 is the JSON of an object of a kind that June 2014 does not have.
type onlyV1 struct {
	ID     string            `json:"id,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Encode returns the compact JSON of an object. It omits the host of a task that is not a
// pod: the host is in its key. The error is an api.TooLarge or an api.Internal one.
func Encode(object api.Object) (string, error) { return inWords(encode(object, false)) }

// EncodeWhole is like Encode, for a store whose keys show neither the machine of a task nor
// whether it is a pod: the value has both.
func EncodeWhole(object api.Object) (string, error) { return inWords(encode(object, true)) }

func inWords(text string, err error) (string, error) {
	var typed *api.Error
	switch {
	case errors.As(err, &typed):
		return "", err
	case err != nil:
		return "", &api.Error{Kind: api.Internal, Message: "the object cannot be encoded as JSON", Err: err}
	}
	return text, nil
}

func encode(object api.Object, whole bool) (string, error) {
	text, err := marshal(object, whole)
	if err != nil {
		return "", err
	}
	var more bytes.Buffer
	encoder := json.NewEncoder(&more)
	encoder.SetEscapeHTML(false) // do not change the remainder
	added := extraOf(object)
	if task, ok := object.(*api.Task); ok {
		added.Pod = whole && task.IsPod
	}
	if err := encoder.Encode(added); err != nil {
		return "", err
	}
	own := strings.TrimSpace(more.String())
	if own == "{}" {
		return string(text), nil
	}
	head := string(text[:len(text)-1])
	if head != "{" {
		head += ","
	}
	value := head + member + ":" + own + "}"
	if err := checkSize(value); err != nil {
		return "", &api.Error{Kind: api.TooLarge, Message: "the object cannot be stored: " + err.Error()}
	}
	return value, nil
}

func marshal(object api.Object, whole bool) ([]byte, error) {
	switch o := object.(type) {
	case *api.Task:
		if !o.IsPod && !whole {
			unplaced := *o
			unplaced.CurrentState.Host = ""
			return v1beta1.Codec.Marshal(unplaced)
		}
	case *api.Any:
		return json.Marshal(onlyV1{o.ID, o.Labels})
	}
	return v1beta1.Codec.Marshal(object)
}

func extraOf(object api.Object) extra {
	meta := object.Meta()
	e := extra{UID: meta.UID, Annotations: meta.Annotations, Remainder: json.RawMessage(meta.Remainder.Text())}
	if !meta.CreationTime.IsZero() {
		e.CreationTimestamp = meta.CreationTime.UTC()
	}
	if meta.ManagedFields != nil {
		e.ManagedFields = make([]entry, len(meta.ManagedFields))
	}
	for i, one := range meta.ManagedFields {
		of := one.Of
		e.ManagedFields[i] = entry{of.Name, of.Operation, of.APIVersion, one.Time, json.RawMessage(of.Fields), of.Subresource}
	}
	switch o := object.(type) {
	case *api.Task:
		e.Held = o.Held
	case *api.Service:
		e.SelectsNothing = o.SelectsNothing
	case *api.Endpoints:
		e.Managed = o.Managed
		for _, one := range o.Targets {
			e.Targets = append(e.Targets, target(one))
		}
	}
	return e
}

// Decode decodes a text of Encode into an empty object, whose key does not change. The caller sets
// IsPod of a task; a task that is not a pod gets no host.
func Decode(text string, into api.Object) error {
	_, err := decode(text, into)
	return err
}

// DecodeWhole decodes a text of EncodeWhole into an empty object.
func DecodeWhole(text string, into api.Object) error {
	task, isTask := into.(*api.Task)
	if isTask {
		task.IsPod = true // so that its host is decoded
	}
	added, err := decode(text, into)
	if isTask {
		task.IsPod = added.Pod
	}
	return err
}

func decode(text string, into api.Object) (added extra, err error) {
	if err := checkSize(text); err != nil {
		return added, err
	}
	key := into.Key()
	err = unmarshal([]byte(text), into)
	setKey(into, key)
	if err != nil {
		return added, err
	}
	if added, err = extraIn(text); err != nil {
		return added, err
	}
	return added, added.addTo(into)
}

// extraIn returns the additional member of an object's JSON, if there is one.
func extraIn(text string) (extra, error) {
	var whole struct {
		V1 extra `json:"v1"`
	}
	if !strings.Contains(text, member) {
		return extra{}, nil
	}
	err := json.Unmarshal([]byte(text), &whole)
	return whole.V1, err
}

func unmarshal(text []byte, into api.Object) error {
	var only onlyV1
	switch o := into.(type) {
	case *api.Task:
		isPod := o.IsPod
		err := v1beta1.Codec.Unmarshal(text, o)
		if o.IsPod = isPod; !isPod {
			o.CurrentState.Host = ""
		}
		return err
	case *api.Any:
		err := json.Unmarshal(text, &only)
		o.Labels = only.Labels
		return err
	}
	return v1beta1.Codec.Unmarshal(text, into)
}

func (e extra) addTo(object api.Object) error {
	meta := object.Meta()
	meta.UID, meta.Annotations, meta.Remainder = e.UID, e.Annotations, api.MakeRemainder(e.Remainder)
	if e.ManagedFields != nil {
		meta.ManagedFields = make(api.ManagedFields, len(e.ManagedFields))
	}
	for i, one := range e.ManagedFields {
		of := &api.Manager{Name: one.Manager, Operation: one.Operation, APIVersion: one.APIVersion, Subresource: one.Subresource, Fields: string(one.Fields)}
		meta.ManagedFields[i] = api.ManagedFieldsEntry{Of: of, Time: one.Time}
	}
	if meta.CreationTime = e.CreationTimestamp.UTC(); meta.CreationTime.Year() < 0 || meta.CreationTime.Year() > 9999 {
		return errors.New("the creation timestamp has no year of four digits in UTC")
	}
	switch o := object.(type) {
	case *api.Task:
		o.Held = e.Held
	case *api.Service:
		o.SelectsNothing = e.SelectsNothing
	case *api.Endpoints:
		o.Managed = e.Managed
		for _, one := range e.Targets {
			o.Targets = append(o.Targets, api.Target(one))
		}
	}
	return nil
}

// maxSize bounds the indented size of an object's JSON: another program may have stored
// objects that D33 refuses. It exceeds the size of any accepted body, including the
// defaults that are stored with it.
const maxSize = 4 * conversion.MaxIndentedSize

func checkSize(text string) error {
	if conversion.IndentedSize(text) > maxSize {
		return fmt.Errorf("it would have more than %d bytes when indented", maxSize)
	}
	return nil
}
