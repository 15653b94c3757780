package v1

import (
	"encoding/binary"
	"encoding/json"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
)

// Managed fields are stored apart from the rest of an object: objects with the same ones share them, and they are in no cached
// JSON. They are the longest part of a small object.

const fieldsV1 = "FieldsV1"

func inManagedFields(entries []metav1.ManagedFieldsEntry) api.ManagedFields {
	if entries == nil {
		return nil
	}
	in := make(api.ManagedFields, len(entries))
	for i, e := range entries {
		in[i].Of = unique.Make(api.Manager{Name: e.Manager, Operation: string(e.Operation), APIVersion: e.APIVersion, Subresource: e.Subresource,
			Fields: e.FieldsV1.GetRawString()})
		if e.Time != nil {
			in[i].Time = e.Time.Unix()
		}
	}
	return in
}

// ManagedFields returns the managed fields of a stored object in the API: nil if v1 has not written it. The caller owns them.
func ManagedFields(object api.Object) []metav1.ManagedFieldsEntry {
	in := object.Meta().ManagedFields
	if in == nil {
		return nil
	}
	entries := make([]metav1.ManagedFieldsEntry, len(in))
	for i, e := range in {
		of := e.Of.Value()
		entries[i] = metav1.ManagedFieldsEntry{Manager: of.Name, Operation: metav1.ManagedFieldsOperationType(of.Operation), APIVersion: of.APIVersion,
			FieldsType: fieldsV1, FieldsV1: metav1.NewFieldsV1(of.Fields), Subresource: of.Subresource}
		if e.Time != 0 {
			entries[i].Time = &metav1.Time{Time: timeOf(e)}
		}
	}
	return entries
}

func timeOf(e api.ManagedFieldsEntry) time.Time { return time.Unix(e.Time, 0).UTC() }

// The parts of the JSON of managed fields.
const (
	beforeEntries = `,"managedFields":[`
	afterEntries  = `]`
	beforeTime    = `,"time":"`
	beforeFields  = `,"fieldsType":"FieldsV1","fieldsV1":`
)

// AppendManagedFields appends the managed fields of an object as the last member of its metadata in JSON, nothing if it has none.
func AppendManagedFields(text []byte, object api.Object) []byte {
	for i, e := range object.Meta().ManagedFields {
		if i == 0 {
			text = append(text, beforeEntries...)
		} else {
			text = append(text, ',')
		}
		text = appendEntry(text, e)
	}
	if len(object.Meta().ManagedFields) > 0 {
		text = append(text, afterEntries...)
	}
	return text
}

func appendEntry(text []byte, e api.ManagedFieldsEntry) []byte {
	of, start := e.Of.Value(), len(text)
	text = appendMember(text, `,"manager":`, of.Name)
	text = appendMember(text, `,"operation":`, of.Operation)
	text = appendMember(text, `,"apiVersion":`, of.APIVersion)
	if e.Time != 0 {
		text = append(timeOf(e).AppendFormat(append(text, beforeTime...), time.RFC3339), '"')
	}
	text = append(append(text, beforeFields...), of.Fields...)
	text = append(appendMember(text, `,"subresource":`, of.Subresource), '}')
	text[start] = '{'
	return text
}

func appendMember(text []byte, name, value string) []byte {
	if value == "" {
		return text
	}
	quoted, _ := json.Marshal(value) // texts can be encoded
	return append(append(text, name...), quoted...)
}

// AppendManagedFieldsMessage appends the managed fields of an object as field 1 of a message, the metadata, which has nothing else.
func AppendManagedFieldsMessage(message []byte, object api.Object) []byte {
	var all []byte
	for _, e := range ManagedFields(object) {
		entry, _ := e.Marshal() // it has no invalid values
		all = append(binary.AppendUvarint(append(all, managedFieldsTag...), uint64(len(entry))), entry...)
	}
	return append(appendField(message, 1, len(all)), all...)
}

// managedFieldsTag is that of field 17 of metadata.
var managedFieldsTag = binary.AppendUvarint(nil, 17<<3|2)
