package v1

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
		in[i].Of = &api.Manager{Name: e.Manager, Operation: string(e.Operation), APIVersion: e.APIVersion, Subresource: e.Subresource,
			Fields: e.FieldsV1.GetRawString()}
		if e.Time != nil && !e.Time.IsZero() {
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
		of := e.Of
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

// AppendManagedFieldsJSON appends the managed fields of an object as the last member of its metadata in JSON, nothing if it has none.
func AppendManagedFieldsJSON(text []byte, object api.Object) []byte {
	all := object.Meta().ManagedFields
	if len(all) == 0 {
		return text
	}
	text = append(slices.Grow(text, sizeOfManagedFields(all)), beforeEntries...)
	for i, e := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendEntry(text, e)
	}
	return append(text, afterEntries...)
}

// sizeOfManagedFields is a little more than the size of managed fields in JSON or in a message.
func sizeOfManagedFields(all api.ManagedFields) (size int) {
	for _, e := range all {
		size += 256 + len(e.Of.Fields)
	}
	return size
}

func appendEntry(text []byte, e api.ManagedFieldsEntry) []byte {
	of, start := e.Of, len(text)
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

// appendMember appends a member unless it is empty. Most values need no escapes.
func appendMember(text []byte, name, value string) []byte {
	if value == "" {
		return text
	}
	text = append(text, name...)
	if !strings.ContainsFunc(value, needsEscape) {
		return append(append(append(text, '"'), value...), '"')
	}
	quoted, _ := json.Marshal(value) // texts can be encoded
	return append(text, quoted...)
}

func needsEscape(c rune) bool {
	return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&'
}

// AppendManagedFieldsMessage appends the managed fields of an object as field 1 of a message, the metadata, which has nothing else. It
// appends nothing if there are none.
func AppendManagedFieldsMessage(text []byte, object api.Object) []byte {
	all := object.Meta().ManagedFields
	if len(all) == 0 {
		return text
	}
	text = slices.Grow(text, sizeOfManagedFields(all))
	start := len(text)
	for _, e := range all {
		entry := len(text)
		text = insertHead(appendEntryMessage(text, e), entry, managedFieldsTag)
	}
	return insertHead(text, start, metadataTag)
}

// The tags of metadata in an object, and of managed fields, the field 17, in metadata.
var metadataTag, managedFieldsTag = []byte{1<<3 | 2}, binary.AppendUvarint(nil, 17<<3|2)

// insertHead makes all bytes from one on a field.
func insertHead(message []byte, from int, tag []byte) []byte {
	var head [2 * binary.MaxVarintLen64]byte
	return slices.Insert(message, from, binary.AppendUvarint(append(head[:0], tag...), uint64(len(message)-from))...)
}

// appendEntryMessage appends the message of a metav1.ManagedFieldsEntry.
func appendEntryMessage(entry []byte, e api.ManagedFieldsEntry) []byte {
	of := e.Of
	entry = appendText(appendText(appendText(entry, 1, of.Name), 2, of.Operation), 3, of.APIVersion)
	if e.Time != 0 {
		start := len(entry)
		entry = insertHead(binary.AppendUvarint(append(entry, 1<<3), uint64(e.Time)), start, timeTag)
	}
	entry = appendText(appendField(appendText(entry, 6, fieldsV1), 7, fieldSize(len(of.Fields))), 1, of.Fields)
	return appendText(entry, 8, of.Subresource)
}

var timeTag = []byte{4<<3 | 2}

func appendText(message []byte, number byte, text string) []byte {
	return append(appendField(message, number, len(text)), text...)
}
